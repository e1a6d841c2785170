-- phase: expand
-- oldest: 0.1.0
-- Up to when usage is complete: every event and every correction that was accepted before complete_up_to is stored, of all
-- companies. There is one row, and the highest time counts.
CREATE TABLE IF NOT EXISTS usage_complete
(
    one UInt8,
    complete_up_to SimpleAggregateFunction(max, DateTime64(6, 'UTC'))
)
ENGINE = AggregatingMergeTree
ORDER BY one
SETTINGS fsync_after_insert = 1, fsync_part_directory = 1, non_replicated_deduplication_window = 0,
    min_rows_to_fsync_after_merge = 1, max_suspicious_broken_parts = 0
