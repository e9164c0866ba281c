-- The snapshot of every message, with what lists filter by. `status` is that of the message as a
-- whole.
CREATE TABLE messages (
  row        INTEGER PRIMARY KEY,
  teamspace  TEXT    NOT NULL,
  id         TEXT    NOT NULL,
  thread_id  TEXT    NOT NULL,
  from_agent TEXT    NOT NULL,
  type       TEXT    NOT NULL,
  topic      TEXT,
  status     TEXT    NOT NULL,
  created_at INTEGER NOT NULL,
  position   INTEGER NOT NULL,
  last_seq   INTEGER NOT NULL,
  head       BLOB    NOT NULL,
  at         INTEGER NOT NULL,
  state      TEXT    NOT NULL,
  UNIQUE (teamspace, id)
) STRICT;
CREATE INDEX messages_by_row ON messages (teamspace, row);
CREATE INDEX messages_by_thread ON messages (teamspace, thread_id, row);
CREATE INDEX messages_by_type ON messages (teamspace, type, row);
CREATE INDEX messages_by_status ON messages (teamspace, status, row);
CREATE INDEX messages_by_topic ON messages (teamspace, topic, row) WHERE topic IS NOT NULL;

-- Who takes part in which message: `to` for a recipient, with its own status; `from` for a sender
-- that is none, with the status of the whole. An inbox is a part of this table.
CREATE TABLE parties (
  teamspace TEXT    NOT NULL,
  agent     TEXT    NOT NULL,
  message   INTEGER NOT NULL,
  part      TEXT    NOT NULL,
  status    TEXT    NOT NULL,
  PRIMARY KEY (teamspace, agent, message)
) STRICT, WITHOUT ROWID;
CREATE INDEX parties_by_status ON parties (teamspace, agent, part, status, message);
-- What an inbox shows unless asked for something else.
CREATE INDEX parties_open ON parties (teamspace, agent, message)
  WHERE part = 'to' AND status IN ('pending', 'delivered');

-- The cursors of the loops that follow the ledger.
CREATE TABLE places (
  follower TEXT PRIMARY KEY,
  seq      INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
-- Entries from before there were messages cause no notices.
INSERT INTO places (follower, seq) SELECT 'notices', coalesce(max(seq), 0) FROM entries;
