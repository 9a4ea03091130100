-- Notes for :sink in which conversations and messages :phrase stands. Gives no rows.
SELECT rowid
FROM chat_fts
WHERE chat_fts MATCH :phrase AND vademecum_postings(chat_fts, :sink);
