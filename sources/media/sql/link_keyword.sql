-- Assigns a keyword to a document.
INSERT OR IGNORE INTO MediaKeywords (media_id, keyword_id)
SELECT :media_id, id FROM Keywords WHERE keyword = :keyword;
