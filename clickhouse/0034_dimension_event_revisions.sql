-- phase: expand
-- oldest: 0.1.0
-- accepted_at and corrected_at in microseconds, as in usage_events.
CREATE TABLE IF NOT EXISTS dimension_event_revisions
(
    namespace_id LowCardinality(String),
    event_id String,
    revision UInt32,
    account_id String,
    metric_id Nullable(String),
    currency Nullable(String),
    quantity Decimal(38, 18),
    properties String,
    voided UInt8,
    accepted_at Int64,
    corrected_at Nullable(Int64),
    key_id Nullable(String),
    version UInt64,
    is_deleted UInt8
)
ENGINE = ReplacingMergeTree(version, is_deleted)
ORDER BY (namespace_id, event_id, revision)
SETTINGS fsync_after_insert = 1, fsync_part_directory = 1, non_replicated_deduplication_window = 0,
    min_rows_to_fsync_after_merge = 1, max_suspicious_broken_parts = 0
