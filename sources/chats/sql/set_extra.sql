-- Stores the fields of :extra about a message: the model that wrote it, the commands and the files. Null
-- removes a field.
INSERT INTO message_metadata (message_id, extra_json, last_modified)
VALUES (:id, json_patch('{}', :extra), :now)
ON CONFLICT (message_id) DO UPDATE
SET extra_json = json_patch(
        CASE WHEN json_valid(extra_json) THEN extra_json ELSE '{}' END, :extra
    ),
    last_modified = :now;
