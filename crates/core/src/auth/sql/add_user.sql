-- Adds a user, unless there is one whose name differs in case at most.
INSERT INTO users (name, created_at)
VALUES (:name, :now)
ON CONFLICT DO NOTHING;
