-- Sums the bytes of all deltas.
SELECT coalesce(sum(bytes), 0) AS bytes FROM changes;
