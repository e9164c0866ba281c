-- The same rows as before. For a list of three or more, SQLite makes a table and fills it each time
-- a row is written; it compares with values that are named one by one.
DROP INDEX handoffs_task_active;
CREATE UNIQUE INDEX handoffs_task_active ON handoffs (teamspace, task_id)
  WHERE status = 'proposed' OR status = 'validating' OR status = 'accepted'
    OR status = 'activated';
DROP INDEX parties_in_inbox;
CREATE INDEX parties_in_inbox ON parties (teamspace, agent, message)
  WHERE part = 'to' AND (status = 'pending' OR status = 'delivered' OR status = 'failed');
