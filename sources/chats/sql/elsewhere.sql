-- A message of another conversation that has :id.
SELECT 1 FROM messages WHERE id = :id AND conversation_id <> :conversation_id;
