-- Reads two records of {table} that change with every write: the averages (1) and the structure (10).
-- They are two statements because SQLite builds a temporary index for `IN`.
SELECT block FROM {table}_data WHERE id = 1
UNION ALL
SELECT block FROM {table}_data WHERE id = 10;
