-- Records that the notes of the folder :path are written back.
INSERT INTO two_way_folders (path, new_notes)
VALUES (:path, :new_notes)
ON CONFLICT (path) DO UPDATE SET new_notes = excluded.new_notes;
