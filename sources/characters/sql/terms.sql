-- Terms of character_fts from :from (inclusive) to :to (exclusive), with the number of rows that
-- contain them.
SELECT term, doc
FROM character_words
WHERE term >= :from AND term < :to;
