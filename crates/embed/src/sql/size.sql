-- Computes the used size of the file, in bytes.
SELECT (pages.page_count - free.freelist_count) * size.page_size AS bytes
FROM pragma_page_count AS pages, pragma_freelist_count AS free, pragma_page_size AS size;
