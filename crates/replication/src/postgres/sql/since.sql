-- The head of the database ($1, $2), and its rows that were written after the write $3, which has
-- the identifier $4, in the order of their last writes. Without such a row there is one with the
-- head alone. `is_known` says whether the database has the write $3.
SELECT
    part.seq AS head_seq,
    part.write_id,
    part.schema_version,
    pg_catalog.pg_is_in_recovery() AS is_standby,
    receipt.seq IS NOT NULL OR $3 = 0 AS is_known,
    entry.table_name,
    entry.key,
    entry.long_key,
    entry.content
FROM part
LEFT JOIN receipt
    ON receipt.user_id = $1 AND receipt.part = $2 AND receipt.seq = $3 AND receipt.write_id = $4
LEFT JOIN entry
    ON
        entry.user_id = $1
        AND entry.part = $2
        AND entry.seq > $3
        AND (receipt.seq IS NOT NULL OR $3 = 0)
        AND (entry.content IS NOT NULL OR $3 > 0)
WHERE part.user_id = $1 AND part.part = $2
ORDER BY entry.seq;
