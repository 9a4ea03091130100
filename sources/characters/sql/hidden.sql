-- Full-text rows that a restricted reader may not see, in ascending order. `character_cards` is then a view.
SELECT id AS key
FROM main.character_cards
WHERE id NOT IN (SELECT id FROM character_cards)
ORDER BY id;
