-- Counts the messages of a conversation before the one with :timestamp and :row.
SELECT count(*) AS n
FROM messages
WHERE conversation_id = :conversation_id AND deleted = 0
  AND (timestamp, row) < (:timestamp, :row);
