SELECT count(*) AS users FROM users WHERE password IS NOT NULL AND suspended_at IS NULL;
