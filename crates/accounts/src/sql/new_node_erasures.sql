-- Has the node :id, which was not known, erase what it may have of users who were removed before.
INSERT INTO pending_erasures (node_id, user, removed_at)
SELECT :id, ended_users.name, ended_users.ended_at
FROM ended_users
WHERE
    ended_users.name NOT IN (SELECT users.name FROM users)
    AND NOT EXISTS (SELECT 1 AS is_there FROM nodes WHERE nodes.id = :id)
ON CONFLICT DO NOTHING;
