-- Sets the rating and the character of a conversation.
UPDATE conversations
SET rating = :rating,
    character_id = (
        SELECT character_cards.id
        FROM imported
        JOIN character_cards ON character_cards.id = CAST(imported.item AS INTEGER)
        WHERE imported.source = 'characters' AND imported.origin = :character
    )
WHERE id = :id;
