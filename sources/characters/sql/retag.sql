-- Replaces the tags of the character :id by :tags, a JSON list.
UPDATE character_cards
SET tags = :tags, last_modified = :now, version = version + 1
WHERE id = :id;
