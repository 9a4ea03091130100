SELECT
    pg_catalog.set_config('debug_print_rewritten', 'off', TRUE),
    pg_catalog.set_config('client_min_messages', 'error', TRUE),
    pg_catalog.set_config('vademecum.search_path', pg_catalog.current_setting('search_path'), TRUE),
    pg_catalog.set_config('vademecum.jit', pg_catalog.current_setting('jit'), TRUE),
    pg_catalog.set_config(
        'vademecum.plan_cache_mode', pg_catalog.current_setting('plan_cache_mode'), TRUE
    ),
    pg_catalog.set_config('search_path', 'pg_catalog', TRUE),
    pg_catalog.set_config('jit', 'off', TRUE),
    pg_catalog.set_config('plan_cache_mode', 'force_generic_plan', TRUE)
