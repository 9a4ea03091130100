-- Forgets that a user agreed to a client.
DELETE FROM oauth_consents
WHERE user = :user AND client_id = :client_id;
