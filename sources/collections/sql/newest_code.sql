-- The number of the latest change of a vector code.
SELECT max(changed) AS changed FROM rag_codes;
