-- How many events of the day, void ones included, are not in usage_history: with none, and only marks of history, the account's day
-- can be read from there alone. Computed with days that are computed from the events; of all others, and of rows from before, it is
-- not known, and taken for some.
ALTER TABLE usage_by_day ADD COLUMN IF NOT EXISTS others UInt64 DEFAULT count + 1 CODEC(T64, ZSTD(1))
