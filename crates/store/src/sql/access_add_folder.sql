-- Denies a folder.
INSERT OR IGNORE INTO temp.access_folders (source, first, beyond)
VALUES (:source, :first, :beyond);
