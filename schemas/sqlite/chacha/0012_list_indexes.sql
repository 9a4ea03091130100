-- Indexes with all columns that lists of notes, conversations and characters select and order by, so
-- that a list reads no texts.

CREATE INDEX notes_listed ON notes (last_modified, created_at, title, id, folders, names)
WHERE deleted = 0;
CREATE INDEX conversations_listed ON conversations (last_modified, created_at, title, id)
WHERE deleted = 0;
CREATE INDEX characters_listed ON character_cards (last_modified, created_at, name, tags)
WHERE deleted = 0;
