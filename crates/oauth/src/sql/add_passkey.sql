-- Inserts a passkey, unless it is registered or its user has :max.
INSERT INTO passkeys (id, user, name, public_key, sign_count, created_at)
SELECT :id, :user, :name, :public_key, :sign_count, :now
WHERE (SELECT count(*) FROM passkeys WHERE user = :user) < :max
ON CONFLICT (id) DO NOTHING;
