-- All rows that an audit reads in pages, and the snapshots, which it reads one by one.
SELECT (SELECT count(*) FROM entries) + (SELECT count(*) FROM documents)
     + (SELECT count(*) FROM handoffs) + (SELECT count(*) FROM streams)
     + (SELECT count(*) FROM messages) + (SELECT count(*) FROM conversations)
     + (SELECT count(*) FROM deadlines) + (SELECT count(*) FROM holds)
     + (SELECT count(*) FROM outbox) + (SELECT count(*) FROM parties)
     + (SELECT count(*) FROM outcomes) + (SELECT count(*) FROM transcript)
     + (SELECT count(*) FROM transfers) + (SELECT count(*) FROM last_rings)
