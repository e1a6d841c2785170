-- phase: expand
-- oldest: 0.1.0
-- How far the copies reach: every change up to position is in the tables, and everything that PostgreSQL had committed at
-- complete_up_to by its clock. The highest fill counts; a new one begins from nothing, when PostgreSQL went back to an earlier state.
CREATE TABLE IF NOT EXISTS dimension_copies
(
    fill UInt32,
    position SimpleAggregateFunction(max, UInt64),
    complete_up_to SimpleAggregateFunction(max, DateTime64(6, 'UTC'))
)
ENGINE = AggregatingMergeTree
ORDER BY fill
SETTINGS fsync_after_insert = 1, fsync_part_directory = 1, non_replicated_deduplication_window = 0,
    min_rows_to_fsync_after_merge = 1, max_suspicious_broken_parts = 0
