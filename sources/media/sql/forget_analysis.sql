-- Deletes the analyses of a document.
DELETE FROM DocumentVersions WHERE media_id = :media_id;
