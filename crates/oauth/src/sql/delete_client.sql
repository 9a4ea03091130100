-- Deletes the registered client :id.
DELETE FROM oauth_clients
WHERE id = :id;
