-- Messages :start to :start + :take of a conversation, in order.
SELECT row, id, conversation_id, sender, content, timestamp, last_modified, version
FROM messages
WHERE conversation_id = :conversation_id AND deleted = 0
ORDER BY timestamp, row
LIMIT :take OFFSET :start;
