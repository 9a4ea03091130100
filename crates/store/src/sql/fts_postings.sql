-- Passes the postings of :phrase in the rows :first to :last of {table} to :sink.
SELECT rowid
FROM {table}
WHERE {table} MATCH :phrase
  AND rowid BETWEEN :first AND :last
  AND vademecum_postings({table}, :sink);
