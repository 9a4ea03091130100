-- Gives the note :row another title or content, where there is one.
UPDATE notes
SET title = COALESCE(:title, title), content = COALESCE(:content, content),
    last_modified = :now, version = version + 1
WHERE row = :row;
