-- Ways to damage the transcripts of two conversations of three messages. Each begins with its name
-- (=), says what must be found (>), and is run on a copy of its own.

-- = a line is missing
-- > message 2 is missing
DELETE FROM transcript WHERE conversation = 1 AND number = 2;

-- = a line is missing of a message that was erased
-- > message 1 is missing
DELETE FROM transcript WHERE conversation = 2 AND number = 1;

-- = a line points to another conversation
-- > message 3 of the transcript points to entry
UPDATE transcript SET seq = (SELECT seq FROM transcript WHERE conversation = 2 AND number = 3)
WHERE conversation = 1 AND number = 3;

-- = a message is there twice
-- > which is no such message
INSERT INTO transcript
SELECT conversation, 4, seq FROM transcript WHERE number = 3 AND conversation = 1;

-- = a line before the first
-- > message 0 of conversation/
INSERT INTO transcript VALUES (1, 0, 1);

-- = a line without a conversation
-- > of a conversation that is not there
INSERT INTO transcript VALUES (9, 1, 1);
