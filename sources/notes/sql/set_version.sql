-- Sets the version of the item :id, for one that brings its earlier versions.
UPDATE notes SET version = :version WHERE id = :id;
