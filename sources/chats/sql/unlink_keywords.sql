-- Takes all keywords off a conversation.
DELETE FROM conversation_keywords WHERE conversation_id = :id;
