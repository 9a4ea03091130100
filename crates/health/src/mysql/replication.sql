-- Replication channels that do not run.
SELECT
    'critical' AS severity,
    CONCAT('channel `', connection.channel_name, '`') AS object,
    NULL AS measure,
    NULL AS unit,
    CONCAT('Replication through the channel `', connection.channel_name, '` does not run: receiving is ',
        connection.service_state, ', applying is ', applier.service_state, '. Last error: ',
        COALESCE(NULLIF(connection.last_error_message, ''), 'none'), '.') AS sentence,
    'START REPLICA; -- after its cause is removed' AS suggestion
FROM performance_schema.replication_connection_status AS connection
JOIN performance_schema.replication_applier_status AS applier ON applier.channel_name = connection.channel_name
WHERE connection.service_state <> 'ON' OR applier.service_state <> 'ON';
