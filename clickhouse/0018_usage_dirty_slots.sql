-- Marks of slots (kind 0), or of whole days (1), whose rollups may lack events: placed before late rows are inserted (stage 0,
-- pending), turned ready (stage 1) after that, and cancelled once the rollups are recomputed. An empty account means all
-- accounts. Marks that one insert of usage places are inserted at once; sign -1 takes one back, and both are merged away.
-- Inserted along with them, and never taken back: how often usage of each account was late so far (kind 2). Whoever cached what
-- was closed of an account looks here whether it still holds, and sees of one moment both the count and the marks.
-- Parts are merged within a minute, not once there are many: readers go through all rows of an account, those of which none
-- stands too: 111,000 such took 31 ms a balance, and 5 ms merged.
CREATE TABLE IF NOT EXISTS usage_dirty_slots
(
    namespace_id LowCardinality(String),
    account_id LowCardinality(String),
    kind UInt8,
    slot DateTime('UTC'),
    insert_id UInt64,
    stage UInt8,
    placed_at DateTime('UTC'),
    sign Int64
)
ENGINE = SummingMergeTree(sign)
ORDER BY (namespace_id, account_id, kind, slot, insert_id, stage)
SETTINGS index_granularity = 1024, min_age_to_force_merge_seconds = 60, fsync_after_insert = 1, fsync_part_directory = 1, non_replicated_deduplication_window = 0
