SELECT 'function', routine_schema, routine_name, routine_definition, definer, sql_mode
FROM information_schema.routines
WHERE routine_type = 'FUNCTION' AND routine_schema = {schema} AND routine_name IN ({names})
