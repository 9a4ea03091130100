-- Deletes the :count least recently used vectors.
DELETE FROM vectors
WHERE row IN (
    SELECT row
    FROM vectors
    ORDER BY used_at, row
    LIMIT :count
);
