-- Makes a message that is gone unfindable.
DELETE FROM chat_fts WHERE rowid = :key;
