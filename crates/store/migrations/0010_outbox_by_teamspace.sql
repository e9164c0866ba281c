-- Effects are claimed by kind, which is the first word of their names, and the teamspaces take
-- turns.
DROP INDEX outbox_due;
CREATE INDEX outbox_due ON outbox (substr(name, 1, instr(name || '/', '/') - 1), teamspace, due)
  WHERE due IS NOT NULL;
