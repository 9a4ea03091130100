-- Stores the write $5 with its rows, if the database ($1, $2) is still at the write $3 with the
-- identifier $4. Returns its number, or no row.
WITH moved AS (
    INSERT INTO part AS stored (user_id, part, seq, write_id, schema_version)
    SELECT $1, $2, $3::bigint + 1, $5, $6
    WHERE
        $3::bigint = 0
        OR EXISTS (
            SELECT 1 FROM part AS present
            WHERE present.user_id = $1 AND present.part = $2
        )
    ON CONFLICT (user_id, part) DO UPDATE
    SET seq = excluded.seq, write_id = excluded.write_id, schema_version = excluded.schema_version
    WHERE stored.seq = $3::bigint AND stored.write_id = $4
    RETURNING seq
), written AS (
    INSERT INTO entry (user_id, part, table_name, key, long_key, seq, content)
    SELECT $1, $2, proposed.table_name, proposed.key, proposed.long_key, moved.seq, proposed.content
    FROM moved
    CROSS JOIN unnest($7::text[], $8::bytea[], $9::bytea[], $10::bytea[])
        AS proposed (table_name, key, long_key, content)
    ON CONFLICT (user_id, part, table_name, key) DO UPDATE
    SET seq = excluded.seq, content = excluded.content
), receipt AS (
    INSERT INTO receipt (user_id, part, seq, write_id)
    SELECT $1, $2, moved.seq, $5 FROM moved
)
SELECT moved.seq FROM moved;
