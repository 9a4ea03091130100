-- Inserts a user, unless the name exists in any letter case.
INSERT INTO users (name, created_at, folder)
VALUES (:name, :now, :folder)
ON CONFLICT DO NOTHING;
