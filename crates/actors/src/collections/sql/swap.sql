-- Replaces the file, the plan and the owner of a collection.
UPDATE collections
SET file = :file, plan = :plan, owner = :owner, updated_at = :now
WHERE source_id = :source_id;
