-- Records the use of a key, unless one was recorded since :recent.
UPDATE api_keys
SET last_used_at = :now
WHERE id = :id AND (last_used_at IS NULL OR last_used_at < :recent);
