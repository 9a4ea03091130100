-- Notes for :sink in which prompts :phrase stands. Gives no rows.
SELECT rowid
FROM prompt_fts
WHERE prompt_fts MATCH :phrase AND vademecum_postings(prompt_fts, :sink);
