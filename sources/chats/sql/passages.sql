-- The passages of a conversation at the positions :first to :last.
SELECT key, title, sender, content, neighbours
FROM chat_passages
WHERE conversation_id = :conversation_id AND position BETWEEN :first AND :last
ORDER BY position;
