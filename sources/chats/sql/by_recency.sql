-- Titles and messages that match :query and the filters, newest first.
WITH matched AS MATERIALIZED (
    SELECT rowid, bm25(chat_fts, 1.0, 1.0) AS bm25
    FROM chat_fts
    WHERE chat_fts MATCH :query
      AND (:filtered = 0 OR EXISTS (
          SELECT 1
          FROM messages
          JOIN conversations ON conversations.id = messages.conversation_id
          WHERE chat_fts.rowid % 2 = 1
            AND messages.row = chat_fts.rowid / 2
            AND (:sender IS NULL OR messages.sender = :sender COLLATE NOCASE)
            AND (:character_id IS NULL OR conversations.character_id = :character_id)
      ) OR EXISTS (
          SELECT 1
          FROM conversations
          WHERE chat_fts.rowid % 2 = 0
            AND conversations.row = chat_fts.rowid / 2
            AND :sender IS NULL
            AND conversations.character_id = :character_id
      ))
)
SELECT
    matched.rowid AS key,
    COALESCE(messages.conversation_id, conversations.id) AS conversation_id,
    messages.id AS message_id,
    COALESCE(messages.last_modified, conversations.last_modified) AS last_modified,
    matched.bm25,
    (SELECT min(bm25) FROM matched) AS best
FROM matched
LEFT JOIN messages ON matched.rowid % 2 = 1 AND messages.row = matched.rowid / 2
LEFT JOIN conversations ON matched.rowid % 2 = 0 AND conversations.row = matched.rowid / 2
ORDER BY 4 DESC, 2, 3
LIMIT :take;
