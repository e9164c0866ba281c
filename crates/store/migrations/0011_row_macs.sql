-- Authenticates what the server wrote; the key is not in the database. NULL for rows of older
-- releases, until the first start of this one has signed them.
ALTER TABLE streams ADD COLUMN mac BLOB;
ALTER TABLE handoffs ADD COLUMN mac BLOB;
ALTER TABLE messages ADD COLUMN mac BLOB;
ALTER TABLE conversations ADD COLUMN mac BLOB;
ALTER TABLE outcomes ADD COLUMN mac BLOB;
