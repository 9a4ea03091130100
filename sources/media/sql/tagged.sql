-- Returns a row if some document has a tag.
SELECT 1 FROM MediaKeywords LIMIT 1;
