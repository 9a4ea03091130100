-- Inserts a conversation. A branch shares the root of its parent.
INSERT INTO conversations (
    id, root_id, parent_conversation_id, forked_from_message_id, title, source, external_ref,
    created_at, last_modified, session, is_log
)
VALUES (
    :id, COALESCE(:root_id, :id), :parent, :forked_from, :title, :source, :external_ref,
    :created_at, :last_modified, :session, :is_log
);
