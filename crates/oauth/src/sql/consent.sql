-- Reads what a user agreed to for a client.
SELECT fingerprint, scopes, access
FROM oauth_consents
WHERE user = :user AND client_id = :client_id;
