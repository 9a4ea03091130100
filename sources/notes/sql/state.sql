-- Reads two records of note_fts that change with every write: the averages (1) and the structure (10).
-- They are two statements because SQLite builds a temporary index for `IN`.
SELECT block FROM note_fts_data WHERE id = 1
UNION ALL
SELECT block FROM note_fts_data WHERE id = 10;
