-- The passages of a conversation at the positions :first to :last. The neighbours are the end of the
-- message before and the beginning of the message after, of at most 200 characters each, cut between
-- words. `fill_fts.sql` has the same expression.
SELECT
    key, title, sender, content,
    coalesce(
        CASE
            WHEN length(previous) <= 200 THEN previous
            ELSE substr(
                substr(previous, -200), instr(substr(previous, -200), ' ') + 1
            )
        END || char(10),
        ''
    ) || coalesce(
        CASE
            WHEN length(next) <= 200 THEN next
            ELSE coalesce(
                nullif(
                    rtrim(
                        substr(next, 1, 200),
                        replace(substr(next, 1, 200), ' ', '')
                    ),
                    ''
                ),
                substr(next, 1, 200)
            )
        END,
        ''
    ) AS neighbours
FROM chat_passages
WHERE conversation_id = :conversation_id AND position BETWEEN :first AND :last
ORDER BY position;
