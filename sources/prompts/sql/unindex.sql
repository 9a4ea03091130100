-- Makes a prompt unfindable.
DELETE FROM prompt_fts WHERE rowid = :row;
