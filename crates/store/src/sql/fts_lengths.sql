-- Lengths of the rows :first to :last of {table}.
SELECT id, sz FROM {table}_docsize WHERE id BETWEEN :first AND :last;
