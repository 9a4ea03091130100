-- Lists all characters with a stamp that changes whenever the character changes.
SELECT id AS key, CAST(id AS TEXT) AS id, version || ' ' || last_modified AS stamp
FROM character_cards
WHERE deleted = 0;
