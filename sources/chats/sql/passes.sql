-- Returns a row if the match :key has this sender and character, its conversation is of this project and
-- agent, is one of :items and has one of :tags, and it dates from :after to before :before. A message has
-- its own date. A conversation has the sender of its opening message, except in a search by title
-- (:by_title), since a title has no sender; its date is that of its last modification, or of the opening
-- message in a search by message (:by_message). The log of a session passes :with_logs only, and only with
-- its session.
SELECT 1
FROM messages
JOIN conversations ON conversations.id = messages.conversation_id
WHERE :key % 2 = 1
  AND messages.row = :key / 2
  AND (:items IS NULL OR conversations.id IN (SELECT value FROM json_each(:items)))
  AND (
      conversations.is_log IS NULL
      OR :with_logs AND EXISTS (
          SELECT 1
          FROM conversations AS parent
          WHERE parent.id = conversations.parent_conversation_id AND parent.deleted = 0
      )
  )
  AND (:agent IS NULL OR conversations.source = :agent COLLATE NOCASE)
  AND (
      :project IS NULL
      OR conversations.session ->> '$.project' = :project COLLATE NOCASE
      OR conversations.session ->> '$.folder' = :project
      OR conversations.session ->> '$.remote' = :project
  )
  AND (:sender IS NULL OR messages.sender = :sender COLLATE NOCASE)
  AND (:character_id IS NULL OR conversations.character_id = :character_id)
  AND (:after IS NULL OR COALESCE(messages.timestamp, messages.last_modified) >= :after)
  AND (:before IS NULL OR COALESCE(messages.timestamp, messages.last_modified) < :before)
  AND (
      :tags IS NULL
      OR EXISTS (
          SELECT 1
          FROM conversation_keywords
          JOIN keywords ON keywords.id = conversation_keywords.keyword_id
          WHERE conversation_keywords.conversation_id = conversations.id
            AND keywords.deleted = 0
            AND EXISTS (
                SELECT 1
                FROM json_each(:tags) AS wanted
                WHERE keywords.keyword = wanted.value COLLATE NOCASE
                   OR substr(keywords.keyword, 1, length(wanted.value) + 1) = wanted.value || '/' COLLATE NOCASE
            )
      )
  )
UNION ALL
SELECT 1
FROM conversations
LEFT JOIN messages AS opening
    ON opening.conversation_id = conversations.id AND opening.position = 0
WHERE :key % 2 = 0
  AND conversations.row = :key / 2
  AND (:items IS NULL OR conversations.id IN (SELECT value FROM json_each(:items)))
  AND (
      conversations.is_log IS NULL
      OR :with_logs AND EXISTS (
          SELECT 1
          FROM conversations AS parent
          WHERE parent.id = conversations.parent_conversation_id AND parent.deleted = 0
      )
  )
  AND (:agent IS NULL OR conversations.source = :agent COLLATE NOCASE)
  AND (
      :project IS NULL
      OR conversations.session ->> '$.project' = :project COLLATE NOCASE
      OR conversations.session ->> '$.folder' = :project
      OR conversations.session ->> '$.remote' = :project
  )
  AND (:character_id IS NULL OR conversations.character_id = :character_id)
  AND (:sender IS NULL OR NOT :by_title AND opening.sender = :sender COLLATE NOCASE)
  AND (
      :after IS NULL
      OR CASE
          WHEN :by_message THEN COALESCE(opening.timestamp, opening.last_modified)
          ELSE conversations.last_modified
      END >= :after
  )
  AND (
      :before IS NULL
      OR CASE
          WHEN :by_message THEN COALESCE(opening.timestamp, opening.last_modified)
          ELSE conversations.last_modified
      END < :before
  )
  AND (
      :tags IS NULL
      OR EXISTS (
          SELECT 1
          FROM conversation_keywords
          JOIN keywords ON keywords.id = conversation_keywords.keyword_id
          WHERE conversation_keywords.conversation_id = conversations.id
            AND keywords.deleted = 0
            AND EXISTS (
                SELECT 1
                FROM json_each(:tags) AS wanted
                WHERE keywords.keyword = wanted.value COLLATE NOCASE
                   OR substr(keywords.keyword, 1, length(wanted.value) + 1) = wanted.value || '/' COLLATE NOCASE
            )
      )
  );
