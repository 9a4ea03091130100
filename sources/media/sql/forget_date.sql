-- Deletes the date of the document :media_id.
DELETE FROM DocumentDates WHERE media_id = :media_id;
