-- How many messages come before the one that was sent at :timestamp in :row.
SELECT count(*) AS n
FROM messages
WHERE conversation_id = :conversation_id AND deleted = 0
  AND (timestamp, row) < (:timestamp, :row);
