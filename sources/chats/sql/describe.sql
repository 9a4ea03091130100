-- Sets the rating and the character of a conversation. With :keeps_character, it keeps its character if
-- the new one is not known.
UPDATE conversations
SET rating = :rating,
    character_id = coalesce(
        (
            SELECT character_cards.id
            FROM imported
            JOIN character_cards ON character_cards.id = CAST(imported.item AS INTEGER)
            WHERE imported.source = 'characters' AND imported.origin = :character
        ),
        CASE WHEN :keeps_character THEN character_id END
    )
WHERE id = :id;
