-- Adds a conversation; one that leaves another has that one's root.
INSERT INTO conversations (
    id, root_id, parent_conversation_id, forked_from_message_id, title, source, external_ref,
    created_at, last_modified
)
VALUES (
    :id, COALESCE(:root_id, :id), :parent, :forked_from, :title, :source, :external_ref,
    :created_at, :last_modified
);
