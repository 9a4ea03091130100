-- Deletes the codes of the client :id.
DELETE FROM oauth_codes
WHERE client_id = :id;
