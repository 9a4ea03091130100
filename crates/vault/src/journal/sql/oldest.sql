-- Returns the time of the oldest change that is kept.
SELECT min(changed_at) AS oldest FROM changes;
