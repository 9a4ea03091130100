-- All notes that have one of :tags, are in the folder :folder or below it, and were modified from
-- :after to before :before. The name of the imported folder may come before :folder, or be all of it. The index
-- `notes_listed` has all columns, so no text is read. The origin is read only if folders are counted.
SELECT
    row AS key, id, title, created_at, last_modified, folders,
    CASE
        WHEN :counts_folders
        THEN (SELECT min(origin) FROM imported WHERE source = 'notes' AND item = notes.id)
    END AS origin,
    NULL AS type
FROM main.notes AS notes
WHERE deleted = 0
  AND last_modified >= COALESCE(:after, '')
  AND last_modified < COALESCE(:before, '~')
  AND (
      :folder IS NULL
      OR instr(char(10) || lower(folders) || char(10), char(10) || :folder || char(10)) > 0
      OR EXISTS (
          SELECT 1
          FROM imported INDEXED BY imported_by_item
          WHERE source = 'notes'
            AND item = notes.id
            AND instr(
                substr(vademecum_file_folders(origin), -(length(folders) + length(:folder) + 3)),
                char(10) || :folder || char(10)
            ) > 0
      )
  )
  AND (
      :tags IS NULL
      OR id IN (
          SELECT note_keywords.note_id
          FROM keywords
          JOIN note_keywords ON note_keywords.keyword_id = keywords.id
          WHERE keywords.deleted = 0
            AND EXISTS (
                SELECT 1
                FROM json_each(:tags) AS wanted
                WHERE keywords.keyword = wanted.value COLLATE NOCASE
                   OR substr(keywords.keyword, 1, length(wanted.value) + 1) = wanted.value || '/' COLLATE NOCASE
            )
      )
  );
