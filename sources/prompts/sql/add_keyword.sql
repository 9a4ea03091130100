-- Makes sure that a keyword exists.
INSERT INTO PromptKeywordsTable (keyword, uuid, last_modified)
VALUES (:keyword, :uuid, :now)
ON CONFLICT (keyword) DO UPDATE SET deleted = 0 WHERE deleted <> 0;
