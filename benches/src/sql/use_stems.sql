-- Replaces the tokenizer of all full-text tables.
PRAGMA writable_schema = on;
UPDATE sqlite_schema
SET sql = replace(sql, 'tokenize = ''vademecum''', 'tokenize = ''vademecum_stems''')
WHERE sql LIKE '%tokenize%';
PRAGMA writable_schema = off;
