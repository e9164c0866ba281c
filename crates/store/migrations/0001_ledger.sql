-- The ledger: one row per event, which is also the audit row. Entries of a stream are linked by
-- prev_seq, so that no second index is needed. `commitment` is set when the body was erased.
CREATE TABLE entries (
  seq        INTEGER PRIMARY KEY,
  prev_seq   INTEGER NOT NULL,
  teamspace  TEXT    NOT NULL,
  subject    TEXT    NOT NULL,
  position   INTEGER NOT NULL,
  name       TEXT    NOT NULL,
  version    INTEGER NOT NULL,
  actor      TEXT    NOT NULL,
  at         INTEGER NOT NULL,
  salt       BLOB,
  body       TEXT,
  commitment BLOB,
  hash       BLOB    NOT NULL
) STRICT;

-- The snapshot of every stream that is not a handoff. `secret_hash` finds a token by its secret.
CREATE TABLE streams (
  row         INTEGER PRIMARY KEY,
  teamspace   TEXT    NOT NULL,
  subject     TEXT    NOT NULL,
  kind        TEXT    NOT NULL,
  position    INTEGER NOT NULL,
  last_seq    INTEGER NOT NULL,
  head        BLOB    NOT NULL,
  at          INTEGER NOT NULL,
  state       TEXT    NOT NULL,
  secret_hash TEXT,
  UNIQUE (teamspace, subject)
) STRICT;
CREATE UNIQUE INDEX streams_by_secret ON streams (secret_hash) WHERE secret_hash IS NOT NULL;
CREATE INDEX streams_by_kind ON streams (teamspace, kind, row);

-- The snapshot of every handoff, with what lists filter by. Narrow: the package is elsewhere.
CREATE TABLE handoffs (
  row              INTEGER PRIMARY KEY,
  teamspace        TEXT    NOT NULL,
  id               TEXT    NOT NULL,
  thread_id        TEXT    NOT NULL,
  task_id          TEXT,
  from_agent       TEXT    NOT NULL,
  to_agent         TEXT,
  title            TEXT,
  status           TEXT    NOT NULL,
  initiated_at     INTEGER NOT NULL,
  resolved_at      INTEGER,
  document_seq     INTEGER NOT NULL,
  position         INTEGER NOT NULL,
  last_seq         INTEGER NOT NULL,
  head             BLOB    NOT NULL,
  at               INTEGER NOT NULL,
  state            TEXT    NOT NULL,
  UNIQUE (teamspace, id)
) STRICT;
CREATE UNIQUE INDEX handoffs_task_active ON handoffs (teamspace, task_id)
  WHERE status IN ('proposed', 'validating', 'accepted', 'activated');
CREATE INDEX handoffs_by_row ON handoffs (teamspace, row);
CREATE INDEX handoffs_by_task ON handoffs (teamspace, task_id, row);
CREATE INDEX handoffs_by_sender ON handoffs (teamspace, from_agent, row);
CREATE INDEX handoffs_by_target ON handoffs (teamspace, to_agent, row);
-- Only what is still open: the closed ones are the many, and the newest of all finds them at once.
CREATE INDEX handoffs_open ON handoffs (teamspace, status, row) WHERE status <> 'closed';

-- Packages and drafts, stored once, under the number of the entry that names them by hash.
CREATE TABLE documents (
  seq  INTEGER PRIMARY KEY,
  hash TEXT NOT NULL,
  text TEXT
) STRICT;

CREATE TABLE holds (
  teamspace TEXT NOT NULL,
  key       TEXT NOT NULL,
  holder    TEXT,
  value     TEXT,
  PRIMARY KEY (teamspace, key)
) STRICT, WITHOUT ROWID;

CREATE TABLE deadlines (
  due       INTEGER NOT NULL,
  teamspace TEXT    NOT NULL,
  subject   TEXT    NOT NULL,
  name      TEXT    NOT NULL,
  PRIMARY KEY (due, teamspace, subject, name)
) STRICT, WITHOUT ROWID;

-- Keys that grow with time fill pages in order; random ones work, at a price.
CREATE TABLE outcomes (
  teamspace   TEXT    NOT NULL,
  caller      TEXT    NOT NULL,
  key         TEXT    NOT NULL,
  fingerprint BLOB    NOT NULL,
  outcome     TEXT    NOT NULL,
  at          INTEGER NOT NULL,
  PRIMARY KEY (teamspace, caller, key)
) STRICT, WITHOUT ROWID;

CREATE TABLE sealed (
  only INTEGER PRIMARY KEY CHECK (only = 1),
  size INTEGER NOT NULL,
  edge BLOB    NOT NULL,
  note TEXT    NOT NULL
) STRICT;

-- The handoff table of the ACP design, for people who look with a SQL shell.
CREATE VIEW acp_handoffs AS
SELECT
  h.id, h.thread_id, h.task_id, h.from_agent, h.to_agent, h.title,
  coalesce(json_extract(h.state, '$.Handoff.Made.terms.reason'), '') AS reason,
  d.text AS package_json, h.status,
  json_extract(d.text, '$.provenance') AS provenance_json,
  json_extract(d.text, '$.verification') AS verification_json,
  strftime('%Y-%m-%dT%H:%M:%fZ', h.initiated_at / 1000.0, 'unixepoch') AS initiated_at,
  strftime('%Y-%m-%dT%H:%M:%fZ', h.resolved_at / 1000.0, 'unixepoch') AS resolved_at,
  json_extract(h.state, '$.Handoff.Made.notes') AS resolution_notes
FROM handoffs h JOIN documents d ON d.seq = h.document_seq;
