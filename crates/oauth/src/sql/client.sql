-- Reads the registered client :id.
SELECT id, name, redirect_uris, created_at, used_at
FROM oauth_clients
WHERE id = :id;
