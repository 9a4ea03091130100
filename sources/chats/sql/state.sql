-- Reads two records of chat_fts that change with every write: the averages (1) and the structure (10).
-- They are two statements because SQLite builds a temporary index for `IN`.
SELECT block FROM chat_fts_data WHERE id = 1
UNION ALL
SELECT block FROM chat_fts_data WHERE id = 10;
