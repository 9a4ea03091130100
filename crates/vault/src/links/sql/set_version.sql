-- Records the version of the reader that reads the links of a source, and the row at which it continues.
INSERT OR REPLACE INTO link_versions (source, version, next_row)
VALUES (:source, :version, :next_row);
