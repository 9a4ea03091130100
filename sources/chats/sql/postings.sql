-- Notes for :sink in which titles and messages :phrase stands, from row :first
-- to row :last. Gives no rows.
SELECT rowid
FROM chat_fts
WHERE chat_fts MATCH :phrase
  AND rowid BETWEEN :first AND :last
  AND vademecum_postings(chat_fts, :sink);
