-- Rebuilds the full-text table of prompts with the tokenizer `vademecum`. The writer now passes
-- plain text.

DROP TABLE prompt_fts;
CREATE VIRTUAL TABLE prompt_fts USING fts5 (
    name, details, system_prompt, user_prompt, author, keywords,
    content = '', contentless_delete = 1, tokenize = 'vademecum'
);
CREATE VIRTUAL TABLE prompt_words USING fts5vocab(prompt_fts, row);
INSERT INTO prompt_fts (rowid, name, details, system_prompt, user_prompt, author, keywords)
SELECT
    id, name, details, system_prompt, user_prompt, author,
    (
        SELECT group_concat(PromptKeywordsTable.keyword, ' ')
        FROM PromptKeywordLinks
        JOIN PromptKeywordsTable ON PromptKeywordsTable.id = PromptKeywordLinks.keyword_id
        WHERE PromptKeywordLinks.prompt_id = Prompts.id AND PromptKeywordsTable.deleted = 0
    )
FROM Prompts
WHERE deleted = 0;
