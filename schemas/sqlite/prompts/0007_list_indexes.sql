-- An index with all columns that lists of prompts select and order by, so that a list reads no texts.
CREATE INDEX prompts_listed ON Prompts (last_modified, name)
WHERE deleted = 0;
