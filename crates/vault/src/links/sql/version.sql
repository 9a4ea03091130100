-- Version of the reader that has read the links of a source, and the row at which it continues; NULL if
-- it has read all.
SELECT version, next_row FROM link_versions WHERE source = :source;
