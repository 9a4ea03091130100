-- The conversation imported from :origin, and the root that it shares with its branches.
SELECT conversations.id, conversations.root_id
FROM imported
JOIN conversations ON conversations.id = imported.item
WHERE imported.source = 'chats' AND imported.origin = :origin;
