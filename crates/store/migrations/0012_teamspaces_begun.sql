-- A teamspace without a row in streams has the default settings, unless the row was deleted. The
-- first entry about it tells which.
CREATE INDEX entries_of_teamspaces ON entries (teamspace)
  WHERE position = 1 AND subject = 'teamspace/self';
