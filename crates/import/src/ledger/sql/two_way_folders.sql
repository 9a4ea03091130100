-- Selects the folders whose notes are written back.
SELECT path, new_notes FROM two_way_folders ORDER BY path;
