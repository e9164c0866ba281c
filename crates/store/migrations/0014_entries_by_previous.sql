-- Finds the entry that follows another one in its stream. A snapshot whose last entry has a follower
-- was put back as it was at an earlier time, and is not used.
CREATE INDEX entries_by_previous ON entries (prev_seq) WHERE prev_seq > 0;
