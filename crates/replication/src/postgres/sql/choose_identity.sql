-- Stores $1 as the identity of the archive if it has none.
INSERT INTO shared_value (user_id, kind, key, content)
VALUES ('', 'archive', '\x6964', $1)
ON CONFLICT (user_id, kind, key) DO NOTHING;
