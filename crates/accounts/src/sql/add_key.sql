-- Inserts a key. Only its digest is stored.
INSERT INTO api_keys (
    id, user, name, digest, scopes, delegating, access, created_at, expires_at
)
VALUES (:id, :user, :name, :digest, :scopes, :delegating, :access, :now, :expires_at);
