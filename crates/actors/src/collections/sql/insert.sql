-- Inserts a collection. Returns its number, or no row if the name is taken.
INSERT INTO collections (name, owner, file, plan, created_at, updated_at)
VALUES (:name, :owner, :file, :plan, :now, :now)
ON CONFLICT (name) DO NOTHING
RETURNING source_id;
