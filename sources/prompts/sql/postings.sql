-- Notes for :sink in which prompts :phrase stands, from row :first
-- to row :last. Gives no rows.
SELECT rowid
FROM prompt_fts
WHERE prompt_fts MATCH :phrase
  AND rowid BETWEEN :first AND :last
  AND vademecum_postings(prompt_fts, :sink);
