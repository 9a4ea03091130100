-- The identity of the archive.
SELECT shared_value.content
FROM shared_value
WHERE shared_value.user_id = '' AND shared_value.kind = 'archive' AND shared_value.key = '\x6964';
