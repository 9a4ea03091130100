-- Has the full-text table of earlier files built again: it now has the names of the imported files beside the
-- titles (docs/adr/0071-file-names-of-documents.md).
UPDATE fts_versions
SET version = min(version, 4)
WHERE table_name = 'media_fts' AND EXISTS (SELECT 1 FROM media_fts_docsize);
