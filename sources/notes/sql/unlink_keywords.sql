-- Removes all keywords from a note.
DELETE FROM note_keywords WHERE note_id = :note_id;
