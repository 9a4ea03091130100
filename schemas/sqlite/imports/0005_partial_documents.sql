-- Keeps documents that were read up to a page, because parsing stopped at its time limit. The next import
-- reads them on after that page (docs/adr/0070-documents-read-in-parts.md).

CREATE TABLE partial_documents (
    -- The file, as in `files`.
    path TEXT NOT NULL,
    asked TEXT NOT NULL,
    -- Digest of the content of the file.
    digest TEXT NOT NULL,
    -- Number of pages that were read.
    read_pages INTEGER NOT NULL,
    -- The document with these pages, and their problems, as JSON.
    draft TEXT NOT NULL,
    problems TEXT NOT NULL,
    PRIMARY KEY (path, asked)
);
