-- phase: expand
-- oldest: 0.1.0
-- Up to when the usage of a namespace is rated: everything that was accepted or corrected before complete_up_to is in
-- rated_periods. due_at: the time at which that run was due. Both are Unix seconds.
CREATE TABLE IF NOT EXISTS rating_runs
(
    namespace_id LowCardinality(String),
    due_at Int64,
    complete_up_to SimpleAggregateFunction(max, Int64)
)
ENGINE = AggregatingMergeTree
ORDER BY (namespace_id, due_at)
TTL toDateTime(greatest(due_at, 0), 'UTC') + INTERVAL 30 DAY
SETTINGS fsync_after_insert = 1, fsync_part_directory = 1, non_replicated_deduplication_window = 0,
    min_rows_to_fsync_after_merge = 1, max_suspicious_broken_parts = 0
