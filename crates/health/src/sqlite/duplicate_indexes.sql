-- Indexes whose columns are the first ones of another index.
WITH entry AS (
    SELECT owner.name AS owner, list.name, list."unique" AS is_unique, list.origin,
        group_concat(field.cid || ':' || field.desc || ':' || field.coll, ',') || ',' AS names,
        min(field.cid) AS lowest
    FROM pragma_table_list AS owner
    JOIN pragma_index_list(owner.name) AS list
    JOIN pragma_index_xinfo(list.name) AS field
    WHERE owner.schema = 'main' AND owner.type = 'table' AND NOT list.partial AND field.key
    GROUP BY owner.name, list.name
)
SELECT 'notice' AS severity, spare.name AS object, NULL AS measure, NULL AS unit,
    'The index ' || spare.name || ' on ' || spare.owner || ' has only the first or the same columns as '
        || min(kept.name) || '; it slows every write.' AS sentence,
    'DROP INDEX "' || replace(spare.name, '"', '""') || '";' AS suggestion
FROM entry AS spare
JOIN entry AS kept ON kept.owner = spare.owner AND kept.name <> spare.name
WHERE spare.origin = 'c' AND spare.lowest >= 0 AND kept.lowest >= 0
    AND (
        (spare.names = kept.names AND spare.is_unique <= kept.is_unique
            AND (kept.origin <> 'c' OR kept.is_unique > spare.is_unique OR kept.name < spare.name))
        OR (NOT spare.is_unique AND spare.names <> kept.names
            AND substr(kept.names, 1, length(spare.names)) = spare.names)
    )
GROUP BY spare.owner, spare.name
ORDER BY spare.name;
