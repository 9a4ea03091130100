-- Lets what comes from :origin be read again, whatever it was.
UPDATE imported SET digest = '' WHERE source = 'chats' AND origin = :origin;
