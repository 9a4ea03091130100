-- Positions of the documents that match :query, best first. Title terms have double weight.
SELECT rowid AS place FROM f WHERE f MATCH :query ORDER BY bm25(f, 2.0, 1.0) LIMIT :limit;
