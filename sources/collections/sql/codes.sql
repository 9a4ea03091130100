-- The codes that have changed after :changed, in that order.
SELECT chunk, changed, scale, code FROM rag_codes WHERE changed > :changed ORDER BY changed;
