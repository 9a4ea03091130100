-- Stores when a document was created or published, as the document itself states it. Statements that
-- read it read the text too, which is why it may come after the overflow pages of `content`.
ALTER TABLE Media ADD COLUMN created_at TEXT;
