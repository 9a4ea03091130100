-- The place where a conversation branches off another one.
SELECT root_id, parent_conversation_id, forked_from_message_id
FROM conversations
WHERE id = :id;
