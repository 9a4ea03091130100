-- Removes all keywords from a conversation.
DELETE FROM conversation_keywords WHERE conversation_id = :id;
