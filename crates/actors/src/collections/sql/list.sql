-- Lists the collections, by number.
SELECT source_id, name, owner, file, plan, updated_at FROM collections ORDER BY source_id;
