-- Counts the files that the last import read, and those of them that failed. It is the newest files of which each
-- was read at most :pause nanoseconds after another one.
WITH
reads AS (
    SELECT read_at, read_at - lead(read_at) OVER (ORDER BY read_at DESC) AS pause
    FROM files
    WHERE outcome <> 'missing'
),

beginning AS (
    SELECT coalesce(
        (SELECT max(read_at) FROM reads WHERE pause > :pause),
        (SELECT min(read_at) FROM reads)
    ) AS began_at
)

SELECT
    began_at,
    max(read_at) AS read_at,
    count(*) AS files,
    count(*) FILTER (WHERE outcome = 'skipped') AS failed
FROM files, beginning
WHERE read_at >= began_at AND outcome <> 'missing'
GROUP BY began_at;
