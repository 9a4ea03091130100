-- Removes the marks of rows of the database ($1, $2) that were deleted up to the write $3. A server
-- that has not seen them has no receipt either, and fetches all rows.
DELETE FROM entry
WHERE user_id = $1 AND part = $2 AND seq <= $3 AND content IS NULL;
