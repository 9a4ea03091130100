-- Selects all tables as `name`, with the full-text table each belongs to as `words`.
WITH words AS (
    SELECT name
    FROM sqlite_schema
    WHERE type = 'table' AND sql LIKE 'CREATE VIRTUAL TABLE % USING fts5 (%'
)
SELECT
    tables.name,
    (
        SELECT words.name
        FROM words
        WHERE tables.name IN (
            words.name, words.name || '_data', words.name || '_idx', words.name || '_content',
            words.name || '_docsize', words.name || '_config'
        )
    ) AS words
FROM sqlite_schema AS tables
WHERE tables.type = 'table' AND tables.sql NOT LIKE '% USING fts5vocab(%'
ORDER BY tables.name;
