-- Makes the note :row findable no more.
DELETE FROM note_fts WHERE rowid = :row;
