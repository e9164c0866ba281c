-- Ways to damage the database of the ledger in ledger.rs. Each begins with its name (=), says
-- what must be found (>; … stands for anything), and is run on a copy of its own.

-- = one byte of a body
-- > entry 9 (handoff/…the hash does not follow
-- > entry 9 (handoff/…teamspaces/default/handoffs/handoffs.jsonl:5 differs
UPDATE entries SET body = replace(body, 'schema', 'schemb') WHERE seq = 9;

-- = one byte of a body that makes no lines
-- > entry 5 (token/…the hash does not follow
-- > entry 5 (token/…the snapshot of the stream has another state
UPDATE entries SET body = replace(body, '5e5e', '5e5f') WHERE seq = 5;

-- = one byte of a hash
-- > entry 12 (handoff/…the hash does not follow
-- > entry 12 (handoff/…the snapshot of the stream has another hash
UPDATE entries SET hash = CAST(substr(hash, 1, 31) || x'00' AS BLOB) WHERE seq = 12;

-- = one byte of a hash in the middle of a stream
-- > entry 8 (handoff/…the hash does not follow
UPDATE entries SET hash = CAST(x'00' || substr(hash, 2) AS BLOB) WHERE seq = 8;

-- = a hash that is too short
-- > entry 8: cannot be read
-- > entry 9 (handoff/…at the wrong position of its stream, 2 comes next
-- > entry 9 (handoff/…linked to entry 8, but the entry before it in its stream is 7
-- > entry 9 (handoff/…handoffs.jsonl:3 differs
UPDATE entries SET hash = x'0011' WHERE seq = 8;

-- = one byte of an actor
-- > entry 13 (handoff/…the hash does not follow
-- > entry 13 (handoff/…handoffs.jsonl:12 differs
UPDATE entries SET actor = 'agent:harry' WHERE seq = 13;

-- = a time
-- > entry 1 (agent/tim in default, position 1): the hash does not follow
-- > entry 1 (agent/tim in default, position 1): teamspaces/default/roles/ledger.jsonl:1 differs
-- > entry 1 (agent/tim in default, position 1): the snapshot of the stream has another time
UPDATE entries SET at = at + 1 WHERE seq = 1;

-- = a time that no calendar has
-- > entry 1: cannot be read
-- > entry 1: the snapshot of agent/tim in default ends with this entry
-- > entry 2 (agent/barry in default, position 1): teamspaces/default/roles/ledger.jsonl:1 differs
UPDATE entries SET at = -1 WHERE seq = 1;

-- = the name of an event
-- > entry 11 (handoff/…the hash does not follow
-- > entry 11 (handoff/…event handoff.accepted does not follow
-- > entry 11 (handoff/…handoffs.jsonl:8 differs
UPDATE entries SET name = 'handoff.accepted', body = replace(body, '"chain"', '"passed"')
WHERE seq = 11;

-- = the version of an event
-- > entry 2 (agent/barry in default, position 1): the hash does not follow
-- > entry 2 (agent/barry in default, position 1): cannot be read
UPDATE entries SET version = 2 WHERE seq = 2;

-- = a salt
-- > entry 20 (handoff/…the hash does not follow
UPDATE entries SET salt = zeroblob(16) WHERE seq = 20;

-- = a body that is not text
-- > entry 20: cannot be read
-- > entry 20: the snapshot of handoff/
-- > teamspaces/default/handoffs/handoffs.jsonl:19: no entry says this
UPDATE entries SET body = CAST(x'FF00' AS TEXT) WHERE seq = 20;

-- = a body without its salt
-- > entry 20 (handoff/…the hash does not follow
-- > entry 20 (handoff/…its body was erased, but its document is there
-- > entry 20 (handoff/…the body is missing, and no entry says that it was erased
UPDATE entries SET salt = NULL WHERE seq = 20;

-- = a stream of another name
-- > entry 16 (agent/tim in other, position 3): at the wrong position of its stream, 2 comes next
-- > entry 16 (agent/tim in other, position 3): linked to entry 15
-- > entry 16 (agent/tim in other, position 3): the snapshot of the stream stands at an earlier
-- > entry 16 (agent/tim in other, position 3): the snapshot of handoff/
-- > teamspaces/other/handoffs/handoffs.jsonl:4: no entry says this
UPDATE entries SET subject = 'agent/tim' WHERE seq = 16;

-- = a stream without a name
-- > entry 16: cannot be read
-- > entry 16: the snapshot of handoff/
-- > teamspaces/other/handoffs/handoffs.jsonl:4: no entry says this
UPDATE entries SET subject = 'nonsense' WHERE seq = 16;

-- = a position
-- > entry 19 (handoff/…at the wrong position of its stream, 2 comes next
-- > entry 19 (handoff/…the snapshot of the stream has another position
UPDATE entries SET position = 7 WHERE seq = 19;

-- = a link between the entries of a stream
-- > entry 13 (handoff/…linked to entry 9, but the entry before it in its stream is 11
UPDATE entries SET prev_seq = 9 WHERE seq = 13;

-- = one entry removed
-- > entry 11: missing
-- > entry 13 (handoff/…at the wrong position of its stream, 4 comes next
-- > entry 13 (handoff/…linked to entry 11, but the entry before it in its stream is 9
-- > entry 12 (handoff/…handoffs.jsonl:8 differs
DELETE FROM entries WHERE seq = 11;

-- = the first entry removed
-- > entry 1: missing
-- > entry 1: the snapshot of agent/tim in default ends with this entry, which is not there
-- > entry 2 (agent/barry in default, position 1): teamspaces/default/roles/ledger.jsonl:1 differs
DELETE FROM entries WHERE seq = 1;

-- = the last entry removed, which is not sealed
-- > entry 20: there is a document for it, but no such entry
-- > entry 20: the snapshot of handoff/
-- > teamspaces/default/handoffs/handoffs.jsonl:19: no entry says this
DELETE FROM entries WHERE seq = 20;

-- = one entry added
-- > entry 21 (agent/tim in default, position 2): the hash does not follow
-- > entry 21 (agent/tim in default, position 2): the snapshot of the stream stands at an earlier
INSERT INTO entries SELECT 21, 1, teamspace, subject, 2, name, version, actor, at, salt, body,
                           commitment, hash FROM entries WHERE seq = 1;

-- = a number below the first
-- > there is a row with the number 0
-- > there is a row with the number -7
INSERT INTO entries SELECT -7, 1, teamspace, subject, 2, name, version, actor, at, salt, body,
                           commitment, hash FROM entries WHERE seq = 1;
INSERT INTO entries SELECT 0, 1, teamspace, subject, 2, name, version, actor, at, salt, body,
                           commitment, hash FROM entries WHERE seq = 1;

-- = two entries of a stream swapped
-- > entry 8 (handoff/…position 3): at the wrong position of its stream, 2 comes next
-- > entry 8 (handoff/…linked to entry 8, but the entry before it in its stream is 7
-- > entry 8 (handoff/…handoffs.jsonl:3 differs
-- > entry 9 (handoff/…position 2): at the wrong position of its stream, 4 comes next
-- > entry 9 (handoff/…linked to entry 7, but the entry before it in its stream is 8
-- > entry 11 (handoff/…position 4): at the wrong position of its stream, 3 comes next
UPDATE entries SET seq = 1000 WHERE seq = 8;
UPDATE entries SET seq = 8 WHERE seq = 9;
UPDATE entries SET seq = 9 WHERE seq = 1000;

-- = two entries of different streams swapped
-- > entries 8 to 13: changed, added or moved after the first 13 entries were sealed
-- > entry 12 (handoff/…linked to entry 10, but the entry before it in its stream is 11
-- > entry 13 (handoff/…linked to entry 11, but the entry before it in its stream is 10
-- > entry 10 (handoff/…handoffs.jsonl:6 differs
-- > entry 11 (handoff/…its document is missing
-- > entry 10 (handoff/…there is a document, and nothing says of what
UPDATE entries SET seq = 1000 WHERE seq = 10;
UPDATE entries SET seq = 10 WHERE seq = 11;
UPDATE entries SET seq = 11 WHERE seq = 1000;

-- = two streams of one entry swapped
-- > entries 1 to 7: changed, added or moved after the first 7 entries were sealed
-- > entry 3 (agent/barry in other, position 1): teamspaces/other/roles/ledger.jsonl:1 differs
-- > entry 3 (agent/barry in other, position 1): the snapshot of agent/tim in other ends here
-- > entry 4 (agent/tim in other, position 1): the snapshot of agent/barry in other ends here
UPDATE entries SET seq = 1000 WHERE seq = 3;
UPDATE entries SET seq = 3 WHERE seq = 4;
UPDATE entries SET seq = 4 WHERE seq = 1000;

-- = two streams of one entry swapped, with their snapshots
-- > entries 1 to 7: changed, added or moved after the first 7 entries were sealed
-- > entry 3 (agent/barry in other, position 1): teamspaces/other/roles/ledger.jsonl:1 differs
UPDATE entries SET seq = 1000 WHERE seq = 3;
UPDATE entries SET seq = 3 WHERE seq = 4;
UPDATE entries SET seq = 4 WHERE seq = 1000;
UPDATE streams SET last_seq = 7 - last_seq WHERE last_seq IN (3, 4);

-- = a sealed tail cut
-- > entry 19: missing, although the first 19 entries were sealed
-- > entry 19: the snapshot of handoff/
-- > entry 20: there is a document for it, but no such entry
-- > entry 20: the snapshot of handoff/
-- > teamspaces/default/handoffs/handoffs.jsonl:18: no entry says this
DELETE FROM entries WHERE seq > 18;

-- = a document
-- > entry 7 (handoff/…its document is not the one that the entry names by hash
UPDATE documents SET text = replace(text, 'Half', 'Part') WHERE seq = 7;

-- = the spelling of a document
-- > entry 7 (handoff/…its document is not the one that the entry names by hash
UPDATE documents SET text = text || ' ' WHERE seq = 7;

-- = the hash in a document
-- > entry 10 (handoff/…its document is not the one that the entry names by hash
UPDATE documents SET text = replace(text, '"package_hash":"', '"package_hash":"0') WHERE seq = 10;

-- = the draft of a document
-- > entry 6 (handoff/…its document is not the one that the entry names by hash
UPDATE documents SET text = replace(text, 'Half', 'Part') WHERE seq = 6;

-- = the hash of a document
-- > entry 14 (handoff/…its document is kept under another hash than the entry names
-- > entry 16 (handoff/…the snapshot of the stream has other columns
UPDATE documents SET hash = 'x' WHERE seq = 14;

-- = the text of a document removed
-- > entry 18 (handoff/…the text of its document is missing
UPDATE documents SET text = NULL WHERE seq = 18;

-- = a document removed
-- > entry 6 (handoff/…its document is missing
DELETE FROM documents WHERE seq = 6;

-- = a document added
-- > entry 8 (handoff/…there is a document, and nothing says of what
-- > entry 99: there is a document for it, but no such entry
INSERT INTO documents VALUES (8, 'x', '{}'), (99, 'x', '{}');

-- = the state of a handoff
-- > entry 12 (handoff/…the snapshot of the stream has another state than follows from the entries
UPDATE handoffs SET state = replace(state, 'no time this week', 'no time at all')
WHERE last_seq = 12;

-- = the status of a handoff
-- > entry 12 (handoff/…the snapshot of the stream has other columns than follow from its state
UPDATE handoffs SET status = 'closed' WHERE last_seq = 12;

-- = the target of a handoff
-- > entry 19 (handoff/…the snapshot of the stream has other columns than follow from its state
UPDATE handoffs SET to_agent = 'carol' WHERE last_seq = 19;

-- = the document of a handoff
-- > entry 20 (handoff/…the snapshot of the stream has other columns than follow from its state
UPDATE handoffs SET document_seq = 6 WHERE last_seq = 20;

-- = the position of a handoff
-- > entry 17 (handoff/…the snapshot of the stream has another position
UPDATE handoffs SET position = 5 WHERE last_seq = 17;

-- = the end of a handoff
-- > entry 13 (handoff/…the snapshot of the stream has another position
-- > entry 17 (handoff/…the snapshot of the stream stands at an earlier entry
UPDATE handoffs SET last_seq = 13 WHERE last_seq = 17;

-- = a handoff forgotten
-- > entry 17: no snapshot of handoff/
-- > what is held of task/done in default follows from nothing
DELETE FROM handoffs WHERE last_seq = 17;

-- = the kind of an agent
-- > entry 2 (agent/barry in default, position 1): the snapshot of the stream has another state
UPDATE streams SET state = replace(state, 'worker', 'human') WHERE last_seq = 2;

-- = the secret of a token
-- > entry 5 (token/…the snapshot of the stream has other columns than follow from its state
UPDATE streams SET secret_hash = 'mine' WHERE last_seq = 5;

-- = a stream added
-- > entry 5 (token/…the snapshot of agent/mallory in default ends here
INSERT INTO streams SELECT 99, teamspace, 'agent/mallory', 'agent', position, last_seq, head, at,
                           state, NULL, mac FROM streams WHERE last_seq = 5;

-- = the checkpoint in the database
-- > the checkpoint in the database: checkpoint: expected a valid signature
UPDATE sealed SET note = replace(note, char(10) || '19' || char(10), char(10) || '18' || char(10));

-- = the tree in the database
-- > the checkpoint in the database does not fit the tree that is kept with it
UPDATE sealed SET edge = zeroblob(length(edge));

-- = who owned a task
-- > what is held of task/done in default follows from nothing
UPDATE holds SET value = '["mallory"]' WHERE key = 'task/done' AND teamspace = 'default';

-- = who holds a task
-- > entry 16 (handoff/…task/done is held otherwise than follows from the state
UPDATE holds SET holder = NULL WHERE key = 'task/done' AND teamspace = 'other';

-- = a task without its hold
-- > entry 16 (handoff/…task/done is held otherwise than follows from the state
DELETE FROM holds WHERE key = 'task/done' AND teamspace = 'other';

-- = a hold without a handoff
-- > what is held of task/new in other follows from nothing
INSERT INTO holds (teamspace, key, holder, value) VALUES ('other', 'task/new', 'x', '["tim"]');

-- = a deadline removed
-- > entry 16 (handoff/…the deadline …is missing
DELETE FROM deadlines WHERE teamspace = 'other';

-- = a deadline put off
-- > entry 16 (handoff/…the deadline …is missing
UPDATE deadlines SET due = due + 60000 WHERE teamspace = 'other';

-- = a deadline of nothing
-- > the deadline proposed of agent/tim in other follows from nothing
INSERT INTO deadlines (due, teamspace, subject, name)
VALUES (1771682400000, 'other', 'agent/tim', 'proposed');
