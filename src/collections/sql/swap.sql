-- Says which file holds a collection from now on, and what it is made of.
UPDATE collections
SET file = :file, plan = :plan, owner = :owner, updated_at = :now
WHERE source_id = :source_id;
