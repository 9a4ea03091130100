-- Makes a note unfindable.
DELETE FROM note_fts WHERE rowid = :row;
