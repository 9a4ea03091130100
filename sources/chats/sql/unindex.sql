-- Makes what stands for nothing any more unfindable.
DELETE FROM chat_fts WHERE rowid = :key;
