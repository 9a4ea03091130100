-- Sets the position of a message in its conversation.
UPDATE messages SET position = :position WHERE row = :row;
