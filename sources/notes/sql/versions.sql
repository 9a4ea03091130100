-- Lists all notes with a stamp that changes whenever the note changes.
SELECT row AS key, id, version || ' ' || last_modified AS stamp FROM notes WHERE deleted = 0;
