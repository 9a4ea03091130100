-- Migration 15 of chacha.db, 11 of media.db and 10 of prompts.db.

-- Provenance of the items that agents wrote or changed. `kind` says how to read `name`: `agent`, the name
-- of a client; `origin`, an origin of the contents, of which `agent` is one and the others are those of all
-- that the agents had been shown; `uri`, an item that they had been shown, with the strictest origin of its
-- contents. The rows stay when the item is changed, deleted or restored.
CREATE TABLE provenance (
    source TEXT NOT NULL,
    item TEXT NOT NULL,
    kind TEXT NOT NULL,
    name TEXT NOT NULL,
    origin TEXT NOT NULL,
    PRIMARY KEY (source, item, kind, name)
) WITHOUT ROWID;

-- The journal does not tell what the agents of earlier versions had been shown.
INSERT INTO provenance (source, item, kind, name, origin)
SELECT DISTINCT source, item, 'agent', CASE client WHEN '' THEN 'unknown' ELSE client END, ''
FROM changes
WHERE tool IN ('notes.create', 'notes.append', 'notes.update', 'media.add', 'knowledge.tag')
UNION
SELECT DISTINCT changes.source, changes.item, 'origin', known.value, ''
FROM changes, json_each('["agent", "unknown"]') AS known
WHERE changes.tool IN ('notes.create', 'notes.append', 'notes.update', 'media.add', 'knowledge.tag');
