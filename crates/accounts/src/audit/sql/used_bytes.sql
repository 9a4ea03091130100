-- Size of the pages in use.
SELECT (page_count - freelist_count) * page_size AS bytes
FROM pragma_page_count, pragma_freelist_count, pragma_page_size;
