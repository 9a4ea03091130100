-- All characters, with what changes whenever one of them does.
SELECT id AS key, CAST(id AS TEXT) AS id, version || ' ' || last_modified AS stamp
FROM character_cards
WHERE deleted = 0;
