-- Removes the entries before :before.
DELETE FROM entry WHERE at < :before;
