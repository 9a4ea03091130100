-- Forgets that users agreed to the client :id.
DELETE FROM oauth_consents
WHERE client_id = :id;
