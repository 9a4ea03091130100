-- Views of the notes, characters and conversations that a restricted reader may see.
-- Indexes are named so that rules read what the views of sound items have verified (item_damage.rs).

CREATE TEMP VIEW notes AS
SELECT *
FROM temp.sound_notes AS notes
WHERE NOT EXISTS (SELECT 1 FROM temp.access_hidden_sources WHERE source = 'notes')
  AND (
    NOT EXISTS (SELECT 1 FROM temp.access_limited_sources WHERE source = 'notes')
    OR EXISTS (
        SELECT 1
        FROM main.note_keywords AS link INDEXED BY sqlite_autoindex_note_keywords_1
        JOIN main.keywords AS keyword NOT INDEXED ON keyword.id = link.keyword_id AND keyword.deleted = 0
        JOIN temp.access_tags AS rule
            ON rule.source = 'notes' AND rule.denied = 0
            AND keyword.keyword LIKE rule.pattern ESCAPE '\'
        WHERE link.note_id = notes.id
    )
  )
  AND NOT EXISTS (
        SELECT 1
        FROM main.note_keywords AS link INDEXED BY sqlite_autoindex_note_keywords_1
        JOIN main.keywords AS keyword NOT INDEXED ON keyword.id = link.keyword_id AND keyword.deleted = 0
        JOIN temp.access_tags AS rule
            ON rule.source = 'notes' AND rule.denied = 1
            AND keyword.keyword LIKE rule.pattern ESCAPE '\'
        WHERE link.note_id = notes.id
  )
  AND NOT EXISTS (
    SELECT 1
    FROM main.imported AS origin INDEXED BY imported_by_item
    JOIN temp.access_folders AS folder
        ON folder.source = 'notes'
        AND origin.origin >= folder.first AND origin.origin < folder.beyond
    WHERE origin.source = 'notes' AND origin.item = notes.id
  )
  AND NOT EXISTS (
    SELECT 1
    FROM main.provenance AS part INDEXED BY sqlite_autoindex_provenance_1
    JOIN temp.access_origins AS rule ON rule.source = 'notes' AND rule.origin = part.name
    WHERE part.source = 'notes' AND part.item = notes.id AND part.kind = 'origin'
  )
  AND NOT EXISTS (
    SELECT 1
    FROM temp.access_origins AS rule
    WHERE rule.source = 'notes' AND rule.origin = 'imported_file' AND EXISTS (
        SELECT 1
        FROM main.imported AS origin INDEXED BY imported_by_item
        WHERE origin.source = 'notes' AND origin.item = notes.id AND origin.digest <> 'written here'
    )
  )
  AND NOT EXISTS (
    SELECT 1
    FROM temp.access_origins AS rule
    WHERE rule.source = 'notes' AND rule.origin = 'own' AND NOT EXISTS (
        SELECT 1
        FROM main.imported AS origin INDEXED BY imported_by_item
        WHERE origin.source = 'notes' AND origin.item = notes.id AND origin.digest <> 'written here'
    )
  );

CREATE TEMP VIEW character_cards AS
SELECT *
FROM temp.sound_character_cards AS character_cards
WHERE NOT EXISTS (SELECT 1 FROM temp.access_hidden_sources WHERE source = 'characters')
  AND (
    NOT EXISTS (SELECT 1 FROM temp.access_limited_sources WHERE source = 'characters')
    OR EXISTS (
        SELECT 1
        FROM json_each(
            CASE WHEN json_valid(character_cards.tags) THEN character_cards.tags END
        ) AS keyword
        JOIN temp.access_tags AS rule
            ON rule.source = 'characters' AND rule.denied = 0
            AND keyword.value LIKE rule.pattern ESCAPE '\'
        WHERE keyword.type = 'text'
    )
  )
  AND NOT EXISTS (
        SELECT 1
        FROM json_each(
            CASE WHEN json_valid(character_cards.tags) THEN character_cards.tags END
        ) AS keyword
        JOIN temp.access_tags AS rule
            ON rule.source = 'characters' AND rule.denied = 1
            AND keyword.value LIKE rule.pattern ESCAPE '\'
        WHERE keyword.type = 'text'
  )
  AND NOT EXISTS (
    SELECT 1
    FROM main.imported AS origin INDEXED BY imported_by_item
    JOIN temp.access_folders AS folder
        ON folder.source = 'characters'
        AND origin.origin >= folder.first AND origin.origin < folder.beyond
    WHERE origin.source = 'characters' AND origin.item = CAST(character_cards.id AS TEXT)
  )
  AND NOT EXISTS (
    SELECT 1
    FROM main.provenance AS part INDEXED BY sqlite_autoindex_provenance_1
    JOIN temp.access_origins AS rule ON rule.source = 'characters' AND rule.origin = part.name
    WHERE part.source = 'characters' AND part.item = CAST(character_cards.id AS TEXT) AND part.kind = 'origin'
  )
  AND NOT EXISTS (
    SELECT 1
    FROM temp.access_origins AS rule
    WHERE rule.source = 'characters' AND rule.origin = 'imported_file' AND EXISTS (
        SELECT 1
        FROM main.imported AS origin INDEXED BY imported_by_item
        WHERE origin.source = 'characters' AND origin.item = CAST(character_cards.id AS TEXT) AND origin.digest <> 'written here'
    )
  )
  AND NOT EXISTS (
    SELECT 1
    FROM temp.access_origins AS rule
    WHERE rule.source = 'characters' AND rule.origin = 'own' AND NOT EXISTS (
        SELECT 1
        FROM main.imported AS origin INDEXED BY imported_by_item
        WHERE origin.source = 'characters' AND origin.item = CAST(character_cards.id AS TEXT) AND origin.digest <> 'written here'
    )
  );

-- The log of a session is visible where the session is, so `ruled_id` is the session.
CREATE TEMP VIEW access_conversations AS
SELECT *
FROM (
    SELECT
        *,
        CASE
            WHEN is_log = 1 AND parent_conversation_id IS NOT NULL THEN parent_conversation_id
            ELSE id
        END AS ruled_id
    FROM temp.sound_conversations
) AS conversations
WHERE NOT EXISTS (SELECT 1 FROM temp.access_hidden_sources WHERE source = 'chats')
  AND (
    NOT EXISTS (SELECT 1 FROM temp.access_limited_sources WHERE source = 'chats')
    OR EXISTS (
        SELECT 1
        FROM main.conversation_keywords AS link INDEXED BY sqlite_autoindex_conversation_keywords_1
        JOIN main.keywords AS keyword NOT INDEXED ON keyword.id = link.keyword_id AND keyword.deleted = 0
        JOIN temp.access_tags AS rule
            ON rule.source = 'chats' AND rule.denied = 0
            AND keyword.keyword LIKE rule.pattern ESCAPE '\'
        WHERE link.conversation_id = conversations.ruled_id
    )
  )
  AND NOT EXISTS (
        SELECT 1
        FROM main.conversation_keywords AS link INDEXED BY sqlite_autoindex_conversation_keywords_1
        JOIN main.keywords AS keyword NOT INDEXED ON keyword.id = link.keyword_id AND keyword.deleted = 0
        JOIN temp.access_tags AS rule
            ON rule.source = 'chats' AND rule.denied = 1
            AND keyword.keyword LIKE rule.pattern ESCAPE '\'
        WHERE link.conversation_id = conversations.ruled_id
  )
  AND NOT EXISTS (
    SELECT 1
    FROM main.imported AS origin INDEXED BY imported_by_item
    JOIN temp.access_folders AS folder
        ON folder.source = 'chats'
        AND origin.origin >= folder.first AND origin.origin < folder.beyond
    WHERE origin.source = 'chats' AND origin.item = conversations.ruled_id
  )
  AND NOT EXISTS (
    SELECT 1
    FROM main.provenance AS part INDEXED BY sqlite_autoindex_provenance_1
    JOIN temp.access_origins AS rule ON rule.source = 'chats' AND rule.origin = part.name
    WHERE part.source = 'chats' AND part.item = conversations.ruled_id AND part.kind = 'origin'
  )
  AND NOT EXISTS (
    SELECT 1
    FROM temp.access_origins AS rule
    WHERE rule.source = 'chats' AND rule.origin = 'imported_file' AND EXISTS (
        SELECT 1
        FROM main.imported AS origin INDEXED BY imported_by_item
        WHERE origin.source = 'chats' AND origin.item = conversations.ruled_id AND origin.digest <> 'written here'
    )
  )
  AND NOT EXISTS (
    SELECT 1
    FROM temp.access_origins AS rule
    WHERE rule.source = 'chats' AND rule.origin = 'own' AND NOT EXISTS (
        SELECT 1
        FROM main.imported AS origin INDEXED BY imported_by_item
        WHERE origin.source = 'chats' AND origin.item = conversations.ruled_id AND origin.digest <> 'written here'
    )
  );

-- A visible conversation does not name a hidden one that it was forked from, nor a hidden character.
CREATE TEMP VIEW conversations AS
SELECT
    row, id, root_id,
    CASE
        WHEN parent_conversation_id IN (SELECT id FROM temp.access_conversations)
        THEN forked_from_message_id
    END AS forked_from_message_id,
    CASE
        WHEN parent_conversation_id IN (SELECT id FROM temp.access_conversations)
        THEN parent_conversation_id
    END AS parent_conversation_id,
    CASE
        WHEN character_id IN (SELECT id FROM temp.character_cards) THEN character_id
    END AS character_id,
    title, rating, source, external_ref, created_at, last_modified, deleted,
    client_id, version, session, is_log
FROM temp.access_conversations;

CREATE TEMP VIEW messages AS
SELECT *
FROM main.messages
WHERE EXISTS (
    SELECT 1 FROM temp.access_conversations WHERE id = messages.conversation_id
);
