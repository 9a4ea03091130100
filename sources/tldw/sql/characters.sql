-- Lists the characters with a change mark and their sizes in bytes.
SELECT
    id,
    concat_ws('|', version, last_modified) AS mark,
    COALESCE(octet_length(image), 0) + COALESCE(octet_length(description), 0)
    + COALESCE(octet_length(extensions), 0) AS bytes
FROM character_cards
WHERE deleted = 0;
