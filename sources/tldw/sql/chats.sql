-- Lists the conversations with a mark that changes with the conversation or its messages, the extent
-- of their messages, and their sizes in bytes. Ordered by rowid, so that parents precede their branches. Columns that older
-- databases lack are read through `absent`: a column name that a subquery does not find in its own
-- table resolves to the outer query.
WITH visible AS (
    SELECT messages.rowid AS number, conversation_id, content, version, last_modified
    FROM (SELECT 1 AS is_selected_variant) AS absent
    CROSS JOIN messages
    WHERE deleted = 0 AND COALESCE(
        (SELECT is_selected_variant FROM messages AS own WHERE own.rowid = messages.rowid), 1
    ) <> 0
),
said AS (
    SELECT
        conversation_id,
        concat_ws('|', count(*), total(version), total(number), max(last_modified)) AS mark,
        concat_ws(
            '|', count(*), CAST(total(version) AS INTEGER), CAST(total(number) AS INTEGER),
            CAST(total(octet_length(content)) AS INTEGER), max(number)
        ) AS extent,
        total(octet_length(content)) AS bytes
    FROM visible
    GROUP BY conversation_id
),
words AS (
    SELECT
        conversation_keywords.conversation_id, group_concat(keywords.keyword, '|') AS mark
    FROM conversation_keywords
    JOIN keywords ON keywords.id = conversation_keywords.keyword_id
    WHERE keywords.deleted = 0
    GROUP BY conversation_keywords.conversation_id
)
SELECT
    conversations.id,
    concat_ws(
        '|', conversations.version, conversations.last_modified, said.mark, words.mark
    ) AS mark,
    said.extent,
    CAST(said.bytes AS INTEGER) AS bytes
FROM conversations
LEFT JOIN said ON said.conversation_id = conversations.id
LEFT JOIN words ON words.conversation_id = conversations.id
WHERE conversations.deleted = 0
ORDER BY conversations.rowid;
