status: UPDATE transfers SET status = 'failed' WHERE status = 'completed'; UPDATE transfers SET status = 'completed' WHERE status = 'failed'
rings: UPDATE transfers SET record = replace(record, '"rings":1', '"rings":2'); UPDATE transfers SET record = replace(record, '"rings":2', '"rings":1')
made_up: INSERT INTO transfers SELECT row + 9999, teamspace, id || 'x', conversation, queue, agent, status, requested_at, waiting_since, record FROM transfers LIMIT 1; DELETE FROM transfers WHERE row > 9999
last: UPDATE last_rings SET at = at + 1; UPDATE last_rings SET at = at - 1
forgotten: DELETE FROM last_rings
