-- The copies that nodes have not erased yet, each with the place and the last start of its node.
SELECT
    pending_erasures.node_id,
    pending_erasures.user,
    pending_erasures.removed_at,
    nodes.place,
    nodes.started_at
FROM pending_erasures
JOIN nodes
    ON nodes.id = pending_erasures.node_id
ORDER BY pending_erasures.user, nodes.place;
