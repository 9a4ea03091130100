-- The passages of a conversation at the positions :first to :last. The neighbours are the end of the
-- message before, of at most 200 characters, and the beginning of the message after, of at most 100,
-- both cut between words. The commands and files of a message follow its
-- text. `fill_fts.sql` has the same expressions.
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
    ) AS neighbours
FROM chat_passages
WHERE conversation_id = :conversation_id AND position BETWEEN :first AND :last
ORDER BY position;
