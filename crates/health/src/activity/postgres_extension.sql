-- The schema of the extension $1, if it is installed.
SELECT namespace.nspname AS schema
FROM pg_catalog.pg_extension AS extension
JOIN pg_catalog.pg_namespace AS namespace ON namespace.oid = extension.extnamespace
WHERE extension.extname = $1::text;
