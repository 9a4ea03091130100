-- Identifier and last modification of the matching character :key.
SELECT id, last_modified, name AS titles
FROM character_cards
WHERE id = :key;
