-- Inserts a grant. It has no secret of its own: its digest is random, so no key has it.
INSERT INTO api_keys (
    id, user, name, digest, scopes, delegating, access, created_at, expires_at, client_id,
    redirect_uri
)
VALUES (
    :id, :user, :name, randomblob(32), :scopes, 0, :access, :now, :expires_at, :client_id,
    :redirect_uri
);
