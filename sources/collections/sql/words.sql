-- The words of rag_fts_chunks from :from on and before :to, and how many chunks have them.
SELECT term, doc
FROM rag_words
WHERE term >= :from AND term < :to;
