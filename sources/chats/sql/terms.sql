-- Terms of chat_fts from :from (inclusive) to :to (exclusive), with the number of rows that contain
-- them.
SELECT term, doc
FROM chat_words
WHERE term >= :from AND term < :to;
