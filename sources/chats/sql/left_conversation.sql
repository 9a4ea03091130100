-- The conversation that :origin became, and the root of it and all its branches.
SELECT conversations.id, conversations.root_id
FROM imported
JOIN conversations ON conversations.id = imported.item
WHERE imported.source = 'chats' AND imported.origin = :origin;
