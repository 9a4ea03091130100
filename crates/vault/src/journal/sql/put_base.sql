-- Stores the fields of an item as they were at its last import.
INSERT INTO import_bases (source, item, body) VALUES (:source, :item, :body)
ON CONFLICT (source, item) DO UPDATE SET body = excluded.body;
