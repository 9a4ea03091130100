-- Reads the version and the platform of the server.
SELECT
    VERSION() AS version,
    CONCAT(VERSION(), ' ', @@version_comment) AS full_version,
    @@version_compile_os AS operating_system,
    @@version_compile_machine AS architecture;
