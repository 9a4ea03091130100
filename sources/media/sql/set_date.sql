-- Sets when the document :media_id was created, as it states itself.
INSERT OR REPLACE INTO DocumentDates (media_id, created_at) VALUES (:media_id, :created_at);
