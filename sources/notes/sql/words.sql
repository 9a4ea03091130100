-- The words of note_fts from :from on and before :to, and how many rows have them.
SELECT term, doc
FROM note_words
WHERE term >= :from AND term < :to;
