-- Reads the dictionary of compressed texts.
SELECT dictionary FROM rag_text_dictionary;
