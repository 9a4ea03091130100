-- Name of the character :id.
SELECT name AS title FROM character_cards WHERE id = CAST(:id AS INTEGER) AND deleted = 0;
