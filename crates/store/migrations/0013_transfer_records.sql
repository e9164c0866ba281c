-- What happened to each transfer, also to those that a newer one of the same conversation has
-- replaced: the fold of its events, and the columns that lists filter by. It decides nothing, and
-- `tasuki audit verify` compares it with the entries.
CREATE TABLE transfers (
  row           INTEGER PRIMARY KEY, -- the entry that requested it
  teamspace     TEXT    NOT NULL,
  id            TEXT    NOT NULL,
  conversation  TEXT    NOT NULL,
  queue         TEXT    NOT NULL,
  agent         TEXT,
  status        TEXT    NOT NULL,
  requested_at  INTEGER NOT NULL,
  waiting_since INTEGER,
  record        TEXT    NOT NULL
) STRICT;
CREATE UNIQUE INDEX transfers_by_id ON transfers (teamspace, id);
CREATE INDEX transfers_by_time ON transfers (teamspace, requested_at, row);
CREATE INDEX transfers_by_queue ON transfers (teamspace, queue, requested_at, row);
CREATE INDEX transfers_by_status ON transfers (teamspace, status, requested_at, row);
CREATE INDEX transfers_by_agent ON transfers (teamspace, agent, requested_at, row)
  WHERE agent IS NOT NULL;
CREATE INDEX transfers_by_conversation ON transfers (teamspace, conversation, requested_at, row);
CREATE INDEX transfers_waiting ON transfers (teamspace, queue, waiting_since)
  WHERE waiting_since IS NOT NULL;

-- When a transfer last rang for each person: the person idle longest is asked first, also after a
-- restart.
CREATE TABLE last_rings (
  teamspace TEXT    NOT NULL,
  agent     TEXT    NOT NULL,
  at        INTEGER NOT NULL,
  PRIMARY KEY (teamspace, agent)
) STRICT, WITHOUT ROWID;
