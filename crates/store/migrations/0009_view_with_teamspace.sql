-- One task may be handed over in several teamspaces: the view says in which.

DROP VIEW acp_handoffs;

CREATE VIEW acp_handoffs AS
SELECT
  h.teamspace, h.id, h.thread_id, h.task_id, h.from_agent, h.to_agent, h.title,
  coalesce(json_extract(h.state, '$.Handoff.Made.terms.reason'), '') AS reason,
  d.text AS package_json, h.status,
  json_extract(d.text, '$.provenance') AS provenance_json,
  json_extract(d.text, '$.verification') AS verification_json,
  strftime('%Y-%m-%dT%H:%M:%fZ', h.initiated_at / 1000.0, 'unixepoch') AS initiated_at,
  strftime('%Y-%m-%dT%H:%M:%fZ', h.resolved_at / 1000.0, 'unixepoch') AS resolved_at,
  json_extract(h.state, '$.Handoff.Made.notes') AS resolution_notes
FROM handoffs h JOIN documents d ON d.seq = h.document_seq;
