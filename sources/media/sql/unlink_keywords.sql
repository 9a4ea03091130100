-- Removes all keywords from a document.
DELETE FROM MediaKeywords WHERE media_id = :media_id;
