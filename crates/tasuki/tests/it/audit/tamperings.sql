tables SELECT name FROM sqlite_schema WHERE type = 'table' AND name NOT GLOB 'sqlite_*'
all SELECT * FROM {table}
change UPDATE {table} SET {column} = ?1 WHERE {row}
remove DELETE FROM {table} WHERE {row}
add INSERT INTO {table} VALUES ({values})
trigger CREATE TRIGGER t AFTER INSERT ON entries BEGIN DELETE FROM outcomes; END
view DROP VIEW acp_handoffs; CREATE VIEW acp_handoffs AS SELECT 1 AS id
new_view CREATE VIEW v AS SELECT 1 AS one
index DROP INDEX streams_by_secret
new_index CREATE INDEX i ON entries (actor)
no_longer_unique DROP INDEX streams_by_secret; CREATE INDEX streams_by_secret ON streams (secret_hash)
new_table CREATE TABLE t (x)
new_column ALTER TABLE outcomes ADD COLUMN x
