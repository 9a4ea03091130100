-- Selects the stamp of the item :id by which a sync notices its changes; no row for a deleted item.
SELECT version || ' ' || last_modified AS stamp FROM {table} WHERE id = {id} AND {live};
