-- Effects, for as long as the state of their stream wants them. The worker that carries one out
-- holds the row until `leased_until`; `attempts` tells two holders apart. A row without `due` was
-- given up.
CREATE TABLE outbox (
  teamspace    TEXT    NOT NULL,
  subject      TEXT    NOT NULL,
  name         TEXT    NOT NULL,
  due          INTEGER,
  leased_until INTEGER NOT NULL DEFAULT 0,
  attempts     INTEGER NOT NULL DEFAULT 0,
  error        TEXT,
  PRIMARY KEY (teamspace, subject, name)
) STRICT, WITHOUT ROWID;
CREATE INDEX outbox_due ON outbox (due) WHERE due IS NOT NULL;
