-- The words of chat_fts from :from on and before :to, and how many rows have them.
SELECT term, doc
FROM chat_words
WHERE term >= :from AND term < :to;
