-- phase: expand
-- oldest: 0.1.0
-- Marks of slots (kind 0), or of whole days (1), whose rollups may lack events: placed before late rows are inserted (stage 0,
-- pending), turned ready (stage 1) after that, and cancelled once the rollups are recomputed. An empty account means all
-- accounts. Marks that one insert of usage places are inserted at once; a change of -1 takes a mark back, and both are merged
-- away.
-- Rows of kind 2 are no marks: they count, for each account, how often marks of it were inserted, along with these, and are
-- never taken back. They are here so that one select sees the count and the marks as of one moment, and come last, so that who
-- is after marks of any account reads only those.
-- Parts are merged after a minute: readers go through all rows of an account, also those of marks that were taken back
-- (111,000 of them: 31 ms a balance, 5 ms once merged). Accounts are plain text: the dictionary of a million would be read
-- whole for one, 27 ms where it takes 5.
CREATE TABLE IF NOT EXISTS usage_dirty_slots
(
    namespace_id LowCardinality(String),
    account_id String,
    kind UInt8,
    slot DateTime('UTC'),
    insert_id UInt64,
    stage UInt8,
    placed_at DateTime('UTC'),
    change Int64
)
ENGINE = SummingMergeTree(change)
ORDER BY (kind, namespace_id, account_id, slot, insert_id, stage)
SETTINGS index_granularity = 1024, min_age_to_force_merge_seconds = 60, fsync_after_insert = 1, fsync_part_directory = 1, non_replicated_deduplication_window = 0,
    min_rows_to_fsync_after_merge = 1, max_suspicious_broken_parts = 0
