-- The snapshot of every conversation, with what lists filter by.
CREATE TABLE conversations (
  row       INTEGER PRIMARY KEY,
  teamspace TEXT    NOT NULL,
  id        TEXT    NOT NULL,
  holder    TEXT    NOT NULL,
  status    TEXT    NOT NULL,
  opened_at INTEGER NOT NULL,
  position  INTEGER NOT NULL,
  last_seq  INTEGER NOT NULL,
  head      BLOB    NOT NULL,
  at        INTEGER NOT NULL,
  state     TEXT    NOT NULL,
  UNIQUE (teamspace, id)
) STRICT;
CREATE INDEX conversations_by_row ON conversations (teamspace, row);
CREATE INDEX conversations_by_holder ON conversations (teamspace, holder, row);
CREATE INDEX conversations_by_status ON conversations (teamspace, status, row);

-- Which entry is which line of a conversation, so that a page of a long one costs as much as a page
-- of a short one.
CREATE TABLE transcript (
  conversation INTEGER NOT NULL,
  number       INTEGER NOT NULL,
  seq          INTEGER NOT NULL,
  PRIMARY KEY (conversation, number)
) STRICT, WITHOUT ROWID;
