-- Records what a user agreed to for a client.
INSERT INTO oauth_consents (user, client_id, fingerprint, scopes, access, given_at)
VALUES (:user, :client_id, :fingerprint, :scopes, :access, :now)
ON CONFLICT (user, client_id) DO UPDATE
SET fingerprint = :fingerprint, scopes = :scopes, access = :access, given_at = :now;
