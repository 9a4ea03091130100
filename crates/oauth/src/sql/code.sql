-- Reads the code :digest with the state of its user.
SELECT
    oauth_codes.client_id, oauth_codes.client_name, users.name AS user, oauth_codes.redirect_uri,
    oauth_codes.challenge, oauth_codes.resource, oauth_codes.scopes, oauth_codes.access,
    oauth_codes.expires_at, oauth_codes.used_at, oauth_codes.key, users.suspended_at
FROM oauth_codes
JOIN users ON users.name = oauth_codes.user
WHERE oauth_codes.digest = :digest;
