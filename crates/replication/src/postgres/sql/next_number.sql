-- Returns a number that is greater than all before of the key $3, and at least $4. It is stored as eight
-- bytes.
INSERT INTO shared_value AS stored (user_id, kind, key, content, expires_at)
VALUES ($1, $2, $3, int8send($4::int8), NULL)
ON CONFLICT (user_id, kind, key) DO UPDATE
SET
    content = int8send(
        greatest(('x' || encode(stored.content, 'hex'))::bit(64)::int8 + 1, $4::int8)
    )
RETURNING ('x' || encode(stored.content, 'hex'))::bit(64)::int8 AS number;
