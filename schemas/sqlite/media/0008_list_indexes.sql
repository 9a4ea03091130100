-- An index with all columns that lists of media select and order by, so that a list reads no texts.
CREATE INDEX media_listed ON Media (last_modified, ingestion_date, title, type, url)
WHERE deleted = 0 AND is_trash = 0;
