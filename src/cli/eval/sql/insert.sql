-- Adds the document that has this place in the corpus.
INSERT INTO f (rowid, title, text) VALUES (:place, :title, :text);
