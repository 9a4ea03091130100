-- Tells running servers to end the sessions of a user.
INSERT INTO ended_users (name, ended_at)
VALUES (:name, :now)
ON CONFLICT (name) DO UPDATE SET ended_at = excluded.ended_at;
