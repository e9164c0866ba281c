-- The newest entry gets a hash that is none.
UPDATE entries SET hash = x'00' WHERE seq = (SELECT max(seq) FROM entries);
