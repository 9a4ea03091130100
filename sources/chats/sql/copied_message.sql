-- The origin of the session of the agent :service that has the message :id with this sender and text, if
-- it is another one than :conversation_id.
SELECT imported.origin
FROM messages
JOIN conversations ON conversations.id = messages.conversation_id AND conversations.deleted = 0
JOIN imported ON imported.source = 'chats' AND imported.item = conversations.id
WHERE messages.id = :id
  AND messages.position IS NOT NULL
  AND messages.conversation_id IS NOT :conversation_id
  AND messages.sender = :sender
  AND messages.content = :content
  AND conversations.source = :service
  AND conversations.session IS NOT NULL
LIMIT 1;
