-- phase: expand
-- oldest: 0.1.0
-- prices: a list of {value, price_id}, the one without a value last.
CREATE TABLE IF NOT EXISTS dimension_rates
(
    namespace_id LowCardinality(String),
    rate_id String,
    rate_card_id String,
    metric_id Nullable(String),
    currency Nullable(String),
    aggregation String,
    filters String,
    group_by Nullable(String),
    prices String,
    starts_at Int64,
    ends_at Nullable(Int64),
    created_at Int64,
    version UInt64,
    is_deleted UInt8
)
ENGINE = ReplacingMergeTree(version, is_deleted)
ORDER BY (namespace_id, rate_id)
SETTINGS fsync_after_insert = 1, fsync_part_directory = 1, non_replicated_deduplication_window = 0,
    min_rows_to_fsync_after_merge = 1, max_suspicious_broken_parts = 0
