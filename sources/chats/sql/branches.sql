-- What was brought in under the origins from :first on and before :beyond.
SELECT conversations.row, conversations.id, imported.origin
FROM imported
JOIN conversations ON conversations.id = imported.item AND conversations.deleted = 0
WHERE imported.source = 'chats' AND imported.origin >= :first AND imported.origin < :beyond;
