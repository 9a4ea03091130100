SELECT 'function', routine_schema, routine_name, routine_definition, definer, sql_mode
FROM information_schema.routines
WHERE routine_type = 'FUNCTION'
    AND routine_schema = COALESCE(?, DATABASE()) AND routine_name = ?
