-- Inserts a code. Only its digest is stored.
INSERT INTO oauth_codes (
    digest, client_id, client_name, user, redirect_uri, challenge, resource, scopes, access,
    expires_at
)
VALUES (
    :digest, :client_id, :client_name, :user, :redirect_uri, :challenge, :resource, :scopes,
    :access, :expires_at
);
