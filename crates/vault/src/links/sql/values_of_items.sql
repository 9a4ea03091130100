-- Values of the property :name of the items in the JSON list :items.
SELECT link_items.item, note_properties.value
FROM json_each(:items) AS wanted
CROSS JOIN link_items ON link_items.source = :source AND link_items.item = wanted.value
CROSS JOIN note_properties
    ON note_properties.name = :name AND note_properties.item = link_items.number
ORDER BY link_items.number, note_properties.value;
