-- The words of media_fts from :from on and before :to, and how many rows have them.
SELECT term, doc
FROM media_words
WHERE term >= :from AND term < :to;
