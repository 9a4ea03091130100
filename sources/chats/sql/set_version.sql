-- Sets the version of the item :id, for one that brings its earlier versions.
UPDATE conversations SET version = :version WHERE id = :id;
