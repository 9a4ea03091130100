-- Records in :sink the positions of :phrase in the prompts with row :first to :last. Returns no
-- rows.
SELECT rowid
FROM prompt_fts
WHERE prompt_fts MATCH :phrase
  AND rowid BETWEEN :first AND :last
  AND vademecum_postings(prompt_fts, :sink);
