-- Inserts or replaces the import record of a file.
INSERT OR REPLACE INTO files (
    path, asked, root, source, format, size, modified, digest, outcome, items, problems, read_at,
    generation
)
VALUES (
    :path, :asked, :root, :source, :format, :size, :modified, :digest, :outcome, :items, :problems,
    :read_at, :generation
);
