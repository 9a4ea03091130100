-- Selects the rows about the agents that wrote the items in the JSON list :items, those about the items
-- that they had been shown only if :with_uris is true.
SELECT provenance.item, provenance.kind, provenance.name, provenance.origin
FROM json_each(:items) AS wanted
CROSS JOIN provenance
    ON provenance.source = :source AND provenance.item = wanted.value
WHERE :with_uris OR provenance.kind <> 'uri'
