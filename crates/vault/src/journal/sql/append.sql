-- Records a change.
INSERT INTO changes (
    source, item, version, changed_at, action, user, client, key, tool,
    delta, length, fingerprint, bytes
)
VALUES (
    :source, :item, :version, :changed_at, :action, :user, :client, :key, :tool,
    :delta, :length, :fingerprint, coalesce(length(:delta), 0)
);
