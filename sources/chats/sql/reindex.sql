-- Indexes the passage :key from its stored messages, replacing the previous entry. The neighbours are
-- the same as in `passages.sql`.
INSERT OR REPLACE INTO chat_fts (rowid, title, sender, content, neighbours)
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
WHERE
    conversation_id = CASE :key % 2
        WHEN 0 THEN (SELECT id FROM conversations WHERE row = :key / 2)
        ELSE (SELECT conversation_id FROM messages WHERE row = :key / 2)
    END
    AND position IS CASE :key % 2
        WHEN 1 THEN (SELECT position FROM messages WHERE row = :key / 2)
        ELSE (
            SELECT position
            FROM messages
            WHERE position = 0 AND conversation_id = (
                SELECT id FROM conversations WHERE row = :key / 2
            )
        )
    END;
