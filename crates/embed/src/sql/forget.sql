-- Forgets the :count vectors that were not used for longest.
DELETE FROM vectors
WHERE row IN (
    SELECT row
    FROM vectors
    ORDER BY used_at, row
    LIMIT :count
);
