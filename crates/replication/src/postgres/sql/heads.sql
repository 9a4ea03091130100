-- The heads of the databases $2 of the users $1, in their order, and whether the server is a standby.
SELECT
    part.seq,
    part.write_id,
    part.schema_version,
    pg_catalog.pg_is_in_recovery() AS is_standby
FROM unnest($1::text[], $2::text[]) WITH ORDINALITY AS wanted (user_id, part, position)
LEFT JOIN part
    ON part.user_id = wanted.user_id AND part.part = wanted.part
ORDER BY wanted.position;
