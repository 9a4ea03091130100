-- Gives the character :id these tags, a JSON list.
UPDATE character_cards
SET tags = :tags, last_modified = :now, version = version + 1
WHERE id = :id;
