-- All prompts that say something, by name.
SELECT name, details, system_prompt, user_prompt
FROM Prompts
WHERE deleted = 0 AND (trim(system_prompt) <> '' OR trim(user_prompt) <> '')
ORDER BY name COLLATE NOCASE, name;
