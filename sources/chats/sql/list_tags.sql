-- Tags of the conversations with an identifier in the JSON list :ids, with the number of these
-- conversations.
SELECT keywords.keyword AS tag, count(*) AS items
FROM json_each(:ids) AS item
CROSS JOIN conversation_keywords ON conversation_keywords.conversation_id = item.value
JOIN keywords ON keywords.id = conversation_keywords.keyword_id AND keywords.deleted = 0
GROUP BY keywords.id;
