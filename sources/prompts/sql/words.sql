-- The words of prompt_fts from :from on and before :to, and how many rows have them.
SELECT term, doc
FROM prompt_words
WHERE term >= :from AND term < :to;
