-- Replaces the title and the content of the note :row. NULL keeps the stored value.
UPDATE notes
SET title = COALESCE(:title, title), content = COALESCE(:content, content),
    last_modified = :now, version = version + 1
WHERE row = :row;
