-- The words of character_fts from :from on and before :to, and how many rows have them.
SELECT term, doc
FROM character_words
WHERE term >= :from AND term < :to;
