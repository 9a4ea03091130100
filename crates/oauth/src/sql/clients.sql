-- Lists the registered clients, oldest first.
SELECT id, name, redirect_uris, created_at, used_at
FROM oauth_clients
ORDER BY created_at, id;
