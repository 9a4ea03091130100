-- Updates a conversation and restores it if it was deleted.
UPDATE conversations
SET title = :title, root_id = COALESCE(:root_id, id), parent_conversation_id = :parent,
    forked_from_message_id = :forked_from, last_modified = :last_modified, version = version + 1,
    deleted = 0, session = :session, is_log = :is_log
WHERE id = :id
RETURNING row;
