-- Indexes all passages in an empty full-text table. The neighbours are the same as in `passages.sql`.
INSERT INTO chat_fts (rowid, title, sender, content, neighbours)
SELECT
    key, title, sender, content || coalesce(char(10) || actions, '') AS content,
    coalesce(
        CASE
            WHEN length(previous) <= 200 THEN previous
            ELSE substr(substr(previous, -200), instr(substr(previous, -200), ' ') + 1)
        END || char(10),
        ''
    ) || coalesce(
        CASE
            WHEN length(next) <= 100 THEN next
            ELSE coalesce(
                nullif(
                    rtrim(substr(next, 1, 100), replace(substr(next, 1, 100), ' ', '')), ''
                ),
                substr(next, 1, 100)
            )
        END,
        ''
    )
FROM chat_passages
ORDER BY key;
