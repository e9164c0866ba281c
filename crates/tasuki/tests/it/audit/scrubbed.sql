swapped UPDATE transcript SET number = 99 WHERE conversation = 1 AND number = 1; UPDATE transcript SET number = 1 WHERE conversation = 1 AND number = 3; UPDATE transcript SET number = 3 WHERE conversation = 1 AND number = 99
no_line DELETE FROM transcript WHERE conversation = 1 AND number = 3
erased_line DELETE FROM transcript WHERE conversation = 1 AND number = 2
other_line UPDATE transcript SET seq = 1 WHERE conversation = 1 AND number = 2
rating UPDATE transfers SET record = json_set(record, '$.rating', 5)
served_by UPDATE transfers SET record = json_set(record, '$.served_by', json('["mallory"]'))
more UPDATE transfers SET record = json_set(record, '$.more', 1)
no_transfer DELETE FROM transfers
new_transfer INSERT INTO transfers SELECT 1, teamspace, '01a1ece3-9333-7d34-8ad5-74a81e294516', conversation, queue, agent, status, requested_at, waiting_since, record FROM transfers
earlier_ring UPDATE last_rings SET at = at - 1
new_ring INSERT INTO last_rings VALUES ('default', 'mallory', 1)
new_deadline INSERT INTO deadlines SELECT 99999999999999, teamspace, subject, 'unused' FROM streams WHERE kind = 'agent' LIMIT 1
new_effect INSERT INTO outbox SELECT teamspace, subject, 'wake/x', 99999999999999, 0, 0, NULL FROM streams WHERE kind = 'agent' LIMIT 1
new_party INSERT INTO parties SELECT teamspace, 'mallory', message, part, status FROM parties LIMIT 1
