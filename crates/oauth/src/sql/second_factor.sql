-- Reads since when a user has a second factor, with the number of unused recovery codes.
SELECT
    created_at,
    (SELECT count(*) FROM recovery_codes WHERE recovery_codes.user = second_factors.user)
        AS recovery_codes
FROM second_factors
WHERE user = :user;
