-- The messages of a conversation, deleted ones too.
SELECT row, id, sender, content, timestamp, deleted
FROM messages
WHERE conversation_id = :conversation_id;
