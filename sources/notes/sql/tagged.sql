-- Returns a row if some note has a tag.
SELECT 1 FROM note_keywords LIMIT 1;
