SELECT
    pg_catalog.set_config(
        'vademecum.log_min_messages',
        coalesce(
            nullif(pg_catalog.current_setting('vademecum.log_min_messages', TRUE), ''),
            pg_catalog.current_setting('log_min_messages')
        ),
        TRUE
    ),
    pg_catalog.set_config('log_min_messages', 'fatal', TRUE)
