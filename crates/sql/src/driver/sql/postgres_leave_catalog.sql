SELECT
    pg_catalog.set_config('search_path', pg_catalog.current_setting('vademecum.search_path'), TRUE),
    pg_catalog.set_config('jit', pg_catalog.current_setting('vademecum.jit'), TRUE),
    pg_catalog.set_config(
        'plan_cache_mode', pg_catalog.current_setting('vademecum.plan_cache_mode'), TRUE
    )
