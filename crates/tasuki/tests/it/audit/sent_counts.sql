-- Ways to change what counts the messages of a thread. Alice has sent two of the thread `t`, with
-- the sequences 5 and 7, and bob one. Each begins with its name (=), says what must be found about
-- the counts (>), and is run on a copy of its own.

-- = nothing was done

-- = a lower count
-- > what is held of sent/alice/t in default follows from nothing
UPDATE holds SET value = replace(value, '"n":2', '"n":1') WHERE key = 'sent/alice/t';

-- = a higher count
-- > what is held of sent/alice/t in default follows from nothing
UPDATE holds SET value = replace(value, '"n":2', '"n":3') WHERE key = 'sent/alice/t';

-- = another sequence
-- > what is held of sent/alice/t in default follows from nothing
UPDATE holds SET value = replace(value, '"sequence":7', '"sequence":5') WHERE key = 'sent/alice/t';

-- = other times
-- > what is held of sent/bob/t in default follows from nothing
UPDATE holds SET value = replace(value, '[', '[1,') WHERE key = 'sent/bob/t';

-- = a count removed
-- > sent/bob/t has no count
DELETE FROM holds WHERE key = 'sent/bob/t';

-- = a count that is held
-- > what is held of sent/bob/t in default follows from nothing
UPDATE holds SET holder = 'bob' WHERE key = 'sent/bob/t';

-- = the count of a sender that has sent nothing
-- > what is held of sent/carol/t in default follows from nothing
INSERT INTO holds SELECT teamspace, 'sent/carol/t', holder, value FROM holds
WHERE key = 'sent/bob/t';

-- = the count of another thread
-- > sent/bob/t has no count
-- > what is held of sent/bob/t/u in default follows from nothing
UPDATE holds SET key = 'sent/bob/t/u' WHERE key = 'sent/bob/t';

-- = a count without a thread
-- > sent/bob/t has no count
-- > what is held of sent/bob in default follows from nothing
UPDATE holds SET key = 'sent/bob' WHERE key = 'sent/bob/t';

-- = a message moved to a count of earlier versions
-- > what is held of sent/alice/t in default follows from nothing
-- > what is held of thread/t in default follows from nothing
INSERT INTO holds SELECT teamspace, 'thread/t', holder, value FROM holds WHERE key = 'sent/bob/t';
UPDATE holds SET value = replace(value, '"n":2', '"n":1') WHERE key = 'sent/alice/t';

-- = counts moved to one of earlier versions
-- > sent/alice/t has no count
-- > sent/alice/t has no count
-- > sent/bob/t has no count
-- > what is held of thread/t in default follows from nothing
DELETE FROM holds WHERE key = 'sent/bob/t';
UPDATE holds SET key = 'thread/t', value = replace(value, '"n":2', '"n":3')
WHERE key = 'sent/alice/t';

-- = a message of an earlier version, which counts in its thread
UPDATE messages SET state = replace(state, ',"per_sender":true', '') WHERE from_agent = 'bob';
UPDATE holds SET key = 'thread/t' WHERE key = 'sent/bob/t';

-- = messages of an earlier version, of which one is not counted
-- > what is held of thread/t in default follows from nothing
UPDATE messages SET state = replace(state, ',"per_sender":true', '');
DELETE FROM holds WHERE key = 'sent/bob/t';
UPDATE holds SET key = 'thread/t' WHERE key = 'sent/alice/t';
