-- Number of rows that contain :term, if there are any.
SELECT doc FROM {vocabulary} WHERE term = :term;
