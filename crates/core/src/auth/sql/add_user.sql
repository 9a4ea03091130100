-- Inserts a user, unless the name exists in any letter case.
INSERT INTO users (name, created_at)
VALUES (:name, :now)
ON CONFLICT DO NOTHING;
