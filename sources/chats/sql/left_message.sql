-- The message of a conversation that has one of two identifiers.
SELECT id
FROM messages
WHERE conversation_id = :conversation_id AND id IN (:derived, :named)
ORDER BY id = :derived DESC
LIMIT 1;
