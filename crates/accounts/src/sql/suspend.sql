-- Suspends a user, or resumes one (:suspended_at is NULL).
UPDATE users
SET suspended_at = :suspended_at
WHERE name = :name
    AND name = :name COLLATE BINARY;
