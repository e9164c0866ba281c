BEGIN;
SELECT count(*) FROM entries;
