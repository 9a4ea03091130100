-- Inserts a client, unless there are :max that never got a token.
INSERT INTO oauth_clients (id, name, redirect_uris, created_at)
SELECT :id, :name, :redirect_uris, :now
WHERE (SELECT count(*) FROM oauth_clients WHERE used_at IS NULL) < :max;
