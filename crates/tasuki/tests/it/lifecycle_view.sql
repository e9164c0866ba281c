SELECT * FROM acp_handoffs
