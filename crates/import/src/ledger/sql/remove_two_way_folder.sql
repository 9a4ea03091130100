-- Records that the notes of the folder :path are no longer written back.
DELETE FROM two_way_folders WHERE path = :path RETURNING path;
