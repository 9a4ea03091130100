-- Says which conversation another one leaves, and after which message.
UPDATE conversations
SET root_id = left_one.root_id, parent_conversation_id = left_one.id,
    forked_from_message_id = :after
FROM imported
JOIN conversations AS left_one ON left_one.id = imported.item
WHERE imported.source = 'chats' AND imported.origin = :of AND conversations.id = :id;
