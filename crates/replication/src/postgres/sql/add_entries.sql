-- Stores further rows of the write $3 of the database ($1, $2), in the transaction of that write.
INSERT INTO entry (user_id, part, table_name, key, long_key, seq, content)
SELECT $1, $2, proposed.table_name, proposed.key, proposed.long_key, $3, proposed.content
FROM unnest($4::text[], $5::bytea[], $6::bytea[], $7::bytea[])
    AS proposed (table_name, key, long_key, content)
ON CONFLICT (user_id, part, table_name, key) DO UPDATE
SET seq = excluded.seq, content = excluded.content;
