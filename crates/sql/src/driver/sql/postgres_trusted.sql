-- Finds the functions that match a pattern $1 of names, or belong to an extension $2 of the profile.
-- Trusted are those that only roles with all rights in this database can create or replace: no other
-- role owns the function or, if it is trusted by its name, may create another one in its schema.
WITH trusted_role AS (
    -- Roles that may do what they like with this database anyway.
    SELECT oid FROM pg_roles WHERE rolsuper
    UNION
    SELECT datdba FROM pg_database WHERE datname = current_database()
    UNION
    -- Its only member is the owner of the database.
    SELECT oid FROM pg_roles WHERE rolname = 'pg_database_owner'
), matched AS (
    SELECT proc.oid, proc.proowner, namespace.nspowner, namespace.nspacl,
        coalesce(member.extname = ANY ($2::text[]), FALSE) AS is_by_extension
    FROM pg_proc AS proc
    JOIN pg_namespace AS namespace ON namespace.oid = proc.pronamespace
    LEFT JOIN LATERAL (
        SELECT extension.extname::text AS extname FROM pg_depend
        JOIN pg_extension AS extension ON extension.oid = pg_depend.refobjid
        WHERE classid = 'pg_proc'::regclass AND objid = proc.oid AND deptype = 'e'
            AND refclassid = 'pg_extension'::regclass
    ) AS member ON TRUE
    WHERE proc.oid >= 16384
        AND (
            proc.proname LIKE ANY ($1::text[])
            OR namespace.nspname || '.' || proc.proname LIKE ANY ($1)
            OR member.extname = ANY ($2)
        )
)
SELECT
    matched.oid,
    NOT EXISTS (
        SELECT FROM (
            SELECT matched.proowner AS role
            UNION ALL
            SELECT matched.nspowner WHERE NOT matched.is_by_extension
            UNION ALL
            SELECT privilege.grantee
            FROM aclexplode(coalesce(matched.nspacl, acldefault('n', matched.nspowner))) AS privilege
            WHERE privilege.privilege_type = 'CREATE' AND NOT matched.is_by_extension
        ) AS creator
        WHERE NOT EXISTS (SELECT FROM trusted_role WHERE trusted_role.oid = creator.role)
    ) AS is_trusted
FROM matched
