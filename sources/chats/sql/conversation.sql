-- Reads one conversation, with its keywords as a JSON list.
SELECT
    id, title, character_id, source, parent_conversation_id, forked_from_message_id, rating,
    created_at, last_modified, version, session,
    (
        SELECT json_group_array(keyword)
        FROM (
            SELECT keywords.keyword
            FROM conversation_keywords
            JOIN keywords ON keywords.id = conversation_keywords.keyword_id
            WHERE conversation_keywords.conversation_id = conversations.id AND keywords.deleted = 0
            ORDER BY keywords.keyword
        )
    ) AS tags
FROM conversations
WHERE id = :id AND deleted = 0;
