-- Makes a media document unfindable.
DELETE FROM media_fts WHERE rowid = :row;
