-- The write of the archive that this file corresponds to, if it follows one.
SELECT seq, write_id
FROM archive_state;
