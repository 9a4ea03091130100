-- Tags of the characters with an identifier in the JSON list :ids, with the number of these characters.
-- Tags that are not a JSON list count as none.
SELECT tag.value AS tag, count(DISTINCT cards.id) AS items
FROM character_cards AS cards
JOIN json_each(CASE WHEN json_valid(cards.tags) THEN cards.tags END) AS tag
WHERE cards.deleted = 0
  AND cards.id IN (SELECT value FROM json_each(:ids))
  AND tag.type = 'text'
GROUP BY tag.value;
