-- Terms of rag_fts_chunks from :from (inclusive) to :to (exclusive), with the number of chunks that
-- contain them.
SELECT term, doc
FROM rag_words
WHERE term >= :from AND term < :to;
