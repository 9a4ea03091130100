-- Inserts the document at this position of the corpus.
INSERT INTO f (rowid, title, text) VALUES (:place, :title, :text);
