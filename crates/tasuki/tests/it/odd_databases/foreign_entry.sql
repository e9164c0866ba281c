-- A copy of the newest entry takes the next number.
INSERT INTO entries (seq, prev_seq, teamspace, subject, position, name, version, actor, at, hash)
SELECT seq + 1, prev_seq, teamspace, subject, position, name, version, actor, at, hash
FROM entries ORDER BY seq DESC LIMIT 1;
