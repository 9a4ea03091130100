-- Reads one conversation, with its keywords as a JSON list. Columns that older databases lack are
-- read through `absent`: a column name that a subquery does not find in its own table resolves to
-- the outer query.
SELECT
    title, rating, character_id, parent_conversation_id, forked_from_message_id, created_at,
    last_modified,
    (SELECT source FROM conversations AS own WHERE own.rowid = conversations.rowid) AS source,
    (
        SELECT json_group_array(CAST(keywords.keyword AS TEXT))
        FROM conversation_keywords
        JOIN keywords ON keywords.id = conversation_keywords.keyword_id
        WHERE conversation_keywords.conversation_id = conversations.id AND keywords.deleted = 0
    ) AS keywords
FROM (SELECT NULL AS source) AS absent
CROSS JOIN conversations
WHERE id = :id AND deleted = 0;
