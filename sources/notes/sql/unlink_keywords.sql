-- Takes all keywords off a note.
DELETE FROM note_keywords WHERE note_id = :note_id;
