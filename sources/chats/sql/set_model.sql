-- Stores the name of the model that wrote a message.
INSERT INTO message_metadata (message_id, extra_json, last_modified)
VALUES (:id, json_object('model', :model), :now)
ON CONFLICT (message_id) DO UPDATE
SET extra_json = json_set(
        CASE WHEN json_valid(extra_json) THEN extra_json ELSE '{}' END, '$.model', :model
    ),
    last_modified = :now;
