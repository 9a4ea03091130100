-- Reads the image of a character.
SELECT image FROM character_cards WHERE id = :id AND deleted = 0;
