-- The message of a conversation with one of two identifiers. :derived is preferred.
SELECT id
FROM messages
WHERE conversation_id = :conversation_id AND id IN (:derived, :named)
ORDER BY id = :derived DESC
LIMIT 1;
