-- Removes the oldest tenth of the entries. While failed logins are more than a quarter of all
-- entries, removes only those: callers without a credential cannot displace the calls of others.
DELETE FROM entry WHERE id IN (
    SELECT id
    FROM entry
    WHERE method = 'login'
        OR (SELECT 4 * count(*) FILTER (WHERE method = 'login') <= count(*) FROM entry)
    ORDER BY id
    LIMIT (SELECT count(*) / 10 + 1 FROM entry)
);
