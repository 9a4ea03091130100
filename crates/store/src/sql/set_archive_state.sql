-- Stores the write of the archive that this file corresponds to.
INSERT OR REPLACE INTO archive_state (id, seq, write_id)
VALUES (1, ?1, ?2);
