-- Makes a character unfindable.
DELETE FROM character_fts WHERE rowid = :row;
