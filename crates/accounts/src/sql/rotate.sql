-- Replaces the secret of an API key that is not revoked. The old one is accepted until :until.
UPDATE api_keys
SET previous_digest = digest, previous_until = :until, digest = :digest
WHERE id = :id AND revoked_at IS NULL AND client_id IS NULL;
