-- Returns a row if some character has a tag.
SELECT 1 FROM character_cards WHERE tags NOT IN ('', '[]') LIMIT 1;
