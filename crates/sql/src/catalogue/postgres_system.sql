-- Reads the version of the server.
SELECT
    pg_catalog.current_setting('server_version') AS version,
    pg_catalog.current_setting('server_version_num') AS version_number,
    pg_catalog.version() AS full_version;
