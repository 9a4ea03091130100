-- Removes what was said about a document.
DELETE FROM DocumentVersions WHERE media_id = :media_id;
