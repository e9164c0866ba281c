-- What an inbox shows unless asked for something else: now also what its owner was called for in
-- vain.
DROP INDEX parties_open;
CREATE INDEX parties_in_inbox ON parties (teamspace, agent, message)
  WHERE part = 'to' AND status IN ('pending', 'delivered', 'failed');
