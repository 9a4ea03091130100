-- What the match :key is.
SELECT id, last_modified
FROM character_cards
WHERE id = :key;
