-- Reads the matches with a key in the JSON list :keys: a message (odd keys), or a conversation with
-- its opening message (even keys), each with its conversation.
WITH places AS (
    SELECT wanted.value AS key, messages.conversation_id, messages.row AS message_row
    FROM json_each(:keys) AS wanted
    CROSS JOIN messages ON messages.row = wanted.value / 2 AND messages.deleted = 0
    WHERE wanted.value % 2 = 1
    UNION ALL
    SELECT wanted.value AS key, conversations.id AS conversation_id, messages.row AS message_row
    FROM json_each(:keys) AS wanted
    CROSS JOIN conversations ON conversations.row = wanted.value / 2
    LEFT JOIN messages
        ON messages.conversation_id = conversations.id AND messages.position = 0
    WHERE wanted.value % 2 = 0
)
SELECT
    places.key, conversations.id, conversations.title, conversations.character_id,
    conversations.source, conversations.parent_conversation_id,
    conversations.forked_from_message_id, conversations.rating, conversations.created_at,
    conversations.last_modified, conversations.version, conversations.session,
    (
        SELECT json_group_array(keyword)
        FROM (
            SELECT keywords.keyword
            FROM conversation_keywords
            JOIN keywords ON keywords.id = conversation_keywords.keyword_id
            WHERE conversation_keywords.conversation_id = conversations.id AND keywords.deleted = 0
            ORDER BY keywords.keyword
        )
    ) AS tags,
    messages.id AS message_id, places.conversation_id, messages.sender, messages.content,
    messages.timestamp, messages.position, messages.last_modified AS message_last_modified,
    messages.version AS message_version, NULL AS extra
FROM places
CROSS JOIN conversations
    ON conversations.id = places.conversation_id AND conversations.deleted = 0
LEFT JOIN messages ON messages.row = places.message_row;
