-- Takes all keywords off a document.
DELETE FROM MediaKeywords WHERE media_id = :media_id;
