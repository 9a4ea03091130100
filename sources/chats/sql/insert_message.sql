-- Inserts a message.
INSERT INTO messages (
    id, conversation_id, parent_message_id, sender, content, timestamp, last_modified, position
)
VALUES (:id, :conversation_id, :parent, :sender, :content, :timestamp, :timestamp, :position);
