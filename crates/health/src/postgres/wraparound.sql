-- Age of the oldest transaction number in each database and in the oldest tables.
WITH ages AS (
    SELECT format('database %I', datname) AS object, age(datfrozenxid)::bigint AS transactions, 0 AS place,
        'VACUUM (FREEZE, VERBOSE); -- connected to this database' AS suggestion
    FROM pg_catalog.pg_database
    UNION ALL
    SELECT format('database %I (multixacts)', datname), mxid_age(datminmxid)::bigint, 0,
        'VACUUM (FREEZE, VERBOSE); -- connected to this database'
    FROM pg_catalog.pg_database
    UNION ALL
    SELECT format('%I.%I', namespace.nspname, relation.relname), age(relation.relfrozenxid)::bigint, 1,
        format('VACUUM (FREEZE, VERBOSE) %I.%I;', namespace.nspname, relation.relname)
    FROM pg_catalog.pg_class AS relation
    JOIN pg_catalog.pg_namespace AS namespace ON namespace.oid = relation.relnamespace
    WHERE relation.relkind IN ('r', 'm', 't') AND relation.relfrozenxid <> '0'::xid
)
SELECT
    CASE WHEN transactions >= 1600000000 THEN 'critical' WHEN transactions >= 1000000000 THEN 'warning'
        ELSE 'notice' END AS severity,
    object,
    transactions AS measure,
    'transactions' AS unit,
    format('The oldest unfrozen number of %s is %s transactions old, %s%% of the way to the point where the server refuses to write.',
        object, transactions, round(transactions / 21474836.48, 1)) AS sentence,
    suggestion
FROM ages
-- Autovacuum acts at autovacuum_freeze_max_age; an age far above it means that it does not succeed.
WHERE transactions > greatest(400000000, 1.2 * current_setting('autovacuum_freeze_max_age')::bigint)
ORDER BY place, transactions DESC;
