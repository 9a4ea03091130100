-- Sequences that have used up most of their numbers, or those of the column that they fill.
WITH sequence AS (
    SELECT
        format('%I.%I', namespace.nspname, relation.relname) AS object,
        entry.seqmax,
        entry.seqmin,
        entry.seqincrement,
        entry.seqstart,
        CASE WHEN has_sequence_privilege(relation.oid, 'SELECT,USAGE') THEN pg_sequence_last_value(relation.oid) END AS last_value,
        has_sequence_privilege(relation.oid, 'SELECT,USAGE') AS is_visible,
        owned.name AS owner,
        owned.kind,
        CASE owned.kind WHEN 'smallint' THEN 32767 WHEN 'integer' THEN 2147483647 ELSE 9223372036854775807 END AS column_max
    FROM pg_catalog.pg_sequence AS entry
    JOIN pg_catalog.pg_class AS relation ON relation.oid = entry.seqrelid
    JOIN pg_catalog.pg_namespace AS namespace ON namespace.oid = relation.relnamespace
    LEFT JOIN LATERAL (
        SELECT
            format('%s.%I', attribute.attrelid::regclass, attribute.attname) AS name,
            format_type(attribute.atttypid, NULL) AS kind
        FROM pg_catalog.pg_depend AS link
        JOIN pg_catalog.pg_attribute AS attribute
            ON attribute.attrelid = link.refobjid AND attribute.attnum = link.refobjsubid
        WHERE link.classid = 'pg_catalog.pg_class'::regclass AND link.objid = relation.oid
            AND link.refobjsubid > 0 AND link.deptype IN ('a', 'i')
        LIMIT 1
    ) AS owned ON TRUE
    WHERE NOT entry.seqcycle
), used AS (
    SELECT *,
        round(CASE WHEN seqincrement > 0
            THEN (last_value - seqmin::numeric) / greatest(least(seqmax, column_max)::numeric - seqmin, 1)
            ELSE (seqmax::numeric - last_value) / greatest(seqmax::numeric - seqmin, 1) END * 100, 1) AS percent,
        CASE WHEN seqincrement > 0 THEN (least(seqmax, column_max)::numeric - last_value) / seqincrement
            ELSE (seqmin::numeric - last_value) / seqincrement END AS remaining
    FROM sequence
)
SELECT
    CASE WHEN percent >= 97 THEN 'critical' WHEN percent >= 90 THEN 'warning' ELSE 'notice' END AS severity,
    object,
    percent AS measure,
    'percent' AS unit,
    format('The sequence %s has used %s%% of its numbers; after %s more, inserts%s fail.', object, percent,
        trunc(remaining), coalesce(' into ' || owner, '')) AS sentence,
    CASE WHEN kind IN ('smallint', 'integer')
        THEN format('-- the column %s is %s: change it to bigint, and the sequence with ALTER SEQUENCE %s AS bigint', owner, kind, object)
        ELSE format('ALTER SEQUENCE %s AS bigint MAXVALUE 9223372036854775807;', object) END AS suggestion
FROM used
WHERE percent >= 75
UNION ALL
SELECT 'hidden', 'sequences', count(*), 'sequences',
    format('%s sequences are not visible to this role; it needs SELECT on them.', count(*)), NULL
FROM used
WHERE NOT is_visible
HAVING count(*) > 0
ORDER BY measure DESC;
