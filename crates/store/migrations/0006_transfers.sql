-- In which queue a conversation waits for a person, and its place; who is asked besides the holder.
ALTER TABLE conversations ADD COLUMN waits_in TEXT;
ALTER TABLE conversations ADD COLUMN waits_order INTEGER;
ALTER TABLE conversations ADD COLUMN asked TEXT;
CREATE INDEX conversations_waiting ON conversations (teamspace, waits_in, waits_order, id)
  WHERE waits_in IS NOT NULL;
CREATE INDEX conversations_asked ON conversations (teamspace, asked, row) WHERE asked IS NOT NULL;
