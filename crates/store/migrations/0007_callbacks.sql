-- The queue whose people shall call the customer of a conversation back, and from when on.
ALTER TABLE conversations ADD COLUMN calls_in TEXT;
ALTER TABLE conversations ADD COLUMN calls_at INTEGER;
CREATE INDEX conversations_callbacks ON conversations (teamspace, calls_in, calls_at, id)
  WHERE calls_in IS NOT NULL;
