-- Stores the dictionary of compressed texts. There is at most one.
INSERT INTO rag_text_dictionary (id, dictionary) VALUES (1, :dictionary);
