-- Rebuilds the full-text table of media with the tokenizer `vademecum`. The writer now passes plain
-- text.

DROP TABLE media_fts;
CREATE VIRTUAL TABLE media_fts USING fts5 (
    title, content, author, keywords,
    content = '', contentless_delete = 1, tokenize = 'vademecum'
);
CREATE VIRTUAL TABLE media_words USING fts5vocab(media_fts, row);
INSERT INTO media_fts (rowid, title, content, author, keywords)
SELECT
    id, title, content, author,
    (
        SELECT group_concat(Keywords.keyword, ' ')
        FROM MediaKeywords
        JOIN Keywords ON Keywords.id = MediaKeywords.keyword_id
        WHERE MediaKeywords.media_id = Media.id AND Keywords.deleted = 0
    )
FROM Media
WHERE deleted = 0 AND is_trash = 0;

-- Finds documents that already exist by their content.
CREATE INDEX media_by_content ON Media (content_hash);
