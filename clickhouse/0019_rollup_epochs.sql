-- phase: expand
-- oldest: 0.1.0
-- How far the rollups of each epoch reach. Slots before closed_through are in them; those before closing_through are in them
-- or are being computed. state: 0 is being built, 1 is what readers use (the highest such epoch), 2 is to be dropped.
CREATE TABLE IF NOT EXISTS rollup_epochs
(
    epoch UInt32,
    slot_s SimpleAggregateFunction(max, UInt32),
    closing_through SimpleAggregateFunction(max, DateTime('UTC')),
    closed_through SimpleAggregateFunction(max, DateTime('UTC')),
    state SimpleAggregateFunction(max, UInt8),
    changed_at SimpleAggregateFunction(max, DateTime('UTC'))
)
ENGINE = AggregatingMergeTree
ORDER BY epoch
SETTINGS fsync_after_insert = 1, fsync_part_directory = 1, non_replicated_deduplication_window = 0,
    min_rows_to_fsync_after_merge = 1, max_suspicious_broken_parts = 0
