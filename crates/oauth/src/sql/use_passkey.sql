-- Records a login with the passkey :id. Changes nothing if its counter did not grow, because then a
-- copy of it is in use.
UPDATE passkeys
SET sign_count = :count, last_used_at = :now
WHERE id = :id
    AND (sign_count < :count OR (sign_count = 0 AND :count = 0));
