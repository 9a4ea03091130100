-- Returns a row if some conversation has a tag.
SELECT 1 FROM conversation_keywords LIMIT 1;
