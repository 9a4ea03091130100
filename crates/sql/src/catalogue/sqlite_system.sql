-- Reads the version of the SQLite library.
SELECT
    sqlite_version() AS version,
    'SQLite ' || sqlite_version() || ' ' || sqlite_source_id() AS full_version,
    (
        SELECT substr(listed.compile_options, 10)
        FROM pragma_compile_options AS listed
        WHERE listed.compile_options LIKE 'COMPILER=%'
    ) AS compiler;
