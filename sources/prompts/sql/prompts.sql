-- Reads all prompts with a non-blank system or user prompt, by name.
SELECT name, details, system_prompt, user_prompt
FROM Prompts
WHERE deleted = 0 AND (trim(system_prompt) <> '' OR trim(user_prompt) <> '')
ORDER BY name COLLATE NOCASE, name;
