-- Removes the digests of links and their names: they are derived from texts, and verified by reading these again.

DELETE FROM row_digests WHERE table_number IN (11, 12);
