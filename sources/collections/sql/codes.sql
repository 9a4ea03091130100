-- Vector codes that changed after :changed, in order of change.
SELECT chunk, changed, scale, code FROM rag_codes WHERE changed > :changed ORDER BY changed;
