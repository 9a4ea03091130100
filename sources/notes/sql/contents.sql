-- All notes, with what changes whenever one of them does.
SELECT row AS key, id, version || ' ' || last_modified AS stamp FROM notes WHERE deleted = 0;
