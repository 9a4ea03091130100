-- Conversations imported from origins from :first (inclusive) to :beyond (exclusive).
SELECT conversations.row, conversations.id, imported.origin
FROM imported
JOIN conversations ON conversations.id = imported.item AND conversations.deleted = 0
WHERE imported.source = 'chats' AND imported.origin >= :first AND imported.origin < :beyond;
