operator UPDATE streams SET state = replace(state, '"agent"', '"operator"') WHERE subject = {token}
token INSERT INTO streams SELECT 99, teamspace, 'token/01a1ece3-9333-7d34-8ad5-74a81e294516', kind, 1, last_seq, head, at, replace(replace(state, '"agent"', '"operator"'), secret_hash, {secret}), {secret}, mac FROM streams WHERE subject = {token}
secret UPDATE streams SET secret_hash = {secret} WHERE subject = {token}
owner UPDATE handoffs SET to_agent = 'mallory', state = replace(state, '"to":"bob"', '"to":"mallory"')
mailbox INSERT INTO parties SELECT teamspace, 'mallory', message, part, status FROM parties WHERE agent = 'bob'
answer INSERT INTO outcomes SELECT teamspace, caller, 'forged', fingerprint, outcome, at, mac FROM outcomes WHERE caller = 'agent:alice' LIMIT 1
revived UPDATE streams SET state = replace(state, '"revoked_at":', '"was_revoked_at":') WHERE subject = {token}
tail INSERT INTO entries SELECT seq + 1, 0, teamspace, 'token/01a1ece3-9333-7d34-8ad5-74a81e294516', 1, 'token.issued', 1, 'operator:root', at, salt, body, commitment, hash FROM entries ORDER BY seq DESC LIMIT 1
effect INSERT INTO outbox VALUES ('default', 'garbage', 'wake/x', 1, 0, 0, NULL)
deadline INSERT INTO deadlines VALUES (1, 'default', 'garbage', 'x')
shape UPDATE handoffs SET mac = x'00'
trigger CREATE TRIGGER t BEFORE INSERT ON entries BEGIN SELECT raise(ignore); END
hold DELETE FROM holds WHERE key = 'task/T-1'
stolen UPDATE holds SET holder = NULL, value = '["mallory"]' WHERE key = 'task/T-1'
closed UPDATE handoffs SET status = 'closed'
package UPDATE documents SET text = replace(text, 'T-1', 'T-9')
settings DELETE FROM streams WHERE subject = 'teamspace/self'
free DELETE FROM holds WHERE key = 'task/T-2'
edge UPDATE sealed SET edge = zeroblob(32)
note UPDATE sealed SET note = 'garbled'
unsealed DELETE FROM sealed
other_holder UPDATE holds SET holder = '01a1ece3-9333-7d34-8ad5-74a81e294516' WHERE key = 'task/T-1'
no_deadline DELETE FROM deadlines WHERE subject GLOB 'handoff/*'
no_entry DELETE FROM entries WHERE seq = 2
keep CREATE TABLE kept AS SELECT * FROM streams WHERE subject = 'agent/bob'
put_back INSERT OR REPLACE INTO streams SELECT * FROM kept; DROP TABLE kept
new_hold INSERT INTO holds VALUES ('default', 'task/T-9', '01a1ece3-9333-7d34-8ad5-74a81e294516', '["mallory"]')
