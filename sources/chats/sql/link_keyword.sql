-- Assigns a keyword to a conversation.
INSERT OR IGNORE INTO conversation_keywords (conversation_id, keyword_id, created_at)
SELECT :id, id, :now FROM keywords WHERE keyword = :keyword;
