-- Finds the files that exist but became no items, to which links may lead, without reading the others.

CREATE INDEX files_without_items ON files (path) WHERE outcome IN ('passed', 'skipped');
