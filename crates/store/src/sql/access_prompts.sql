-- View of the prompts that a restricted reader may see.
-- Indexes are named so that rules read what the views of sound items have verified (item_damage.rs).

CREATE TEMP VIEW Prompts AS
SELECT *
FROM temp.sound_Prompts AS Prompts
WHERE NOT EXISTS (SELECT 1 FROM temp.access_hidden_sources WHERE source = 'prompts')
  AND (
    NOT EXISTS (SELECT 1 FROM temp.access_limited_sources WHERE source = 'prompts')
    OR EXISTS (
        SELECT 1
        FROM main.PromptKeywordLinks AS link INDEXED BY sqlite_autoindex_PromptKeywordLinks_1
        JOIN main.PromptKeywordsTable AS keyword NOT INDEXED ON keyword.id = link.keyword_id AND keyword.deleted = 0
        JOIN temp.access_tags AS rule
            ON rule.source = 'prompts' AND rule.denied = 0
            AND keyword.keyword LIKE rule.pattern ESCAPE '\'
        WHERE link.prompt_id = Prompts.id
    )
  )
  AND NOT EXISTS (
        SELECT 1
        FROM main.PromptKeywordLinks AS link INDEXED BY sqlite_autoindex_PromptKeywordLinks_1
        JOIN main.PromptKeywordsTable AS keyword NOT INDEXED ON keyword.id = link.keyword_id AND keyword.deleted = 0
        JOIN temp.access_tags AS rule
            ON rule.source = 'prompts' AND rule.denied = 1
            AND keyword.keyword LIKE rule.pattern ESCAPE '\'
        WHERE link.prompt_id = Prompts.id
  )
  AND NOT EXISTS (
    SELECT 1
    FROM main.imported AS origin INDEXED BY imported_by_item
    JOIN temp.access_folders AS folder
        ON folder.source = 'prompts'
        AND origin.origin >= folder.first AND origin.origin < folder.beyond
    WHERE origin.source = 'prompts' AND origin.item = CAST(Prompts.id AS TEXT)
  )
  AND NOT EXISTS (
    SELECT 1
    FROM main.provenance AS part INDEXED BY sqlite_autoindex_provenance_1
    JOIN temp.access_origins AS rule ON rule.source = 'prompts' AND rule.origin = part.name
    WHERE part.source = 'prompts' AND part.item = CAST(Prompts.id AS TEXT) AND part.kind = 'origin'
  )
  AND NOT EXISTS (
    SELECT 1
    FROM temp.access_origins AS rule
    WHERE rule.source = 'prompts' AND rule.origin = 'imported_file' AND EXISTS (
        SELECT 1
        FROM main.imported AS origin INDEXED BY imported_by_item
        WHERE origin.source = 'prompts' AND origin.item = CAST(Prompts.id AS TEXT) AND origin.digest <> 'written here'
    )
  )
  AND NOT EXISTS (
    SELECT 1
    FROM temp.access_origins AS rule
    WHERE rule.source = 'prompts' AND rule.origin = 'own' AND NOT EXISTS (
        SELECT 1
        FROM main.imported AS origin INDEXED BY imported_by_item
        WHERE origin.source = 'prompts' AND origin.item = CAST(Prompts.id AS TEXT) AND origin.digest <> 'written here'
    )
  );
