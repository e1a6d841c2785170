-- phase: expand
-- oldest: 0.1.0
-- What all accounts of a namespace used on each day together, merged from usage_by_day.
CREATE TABLE IF NOT EXISTS usage_by_day_total
(
    epoch UInt32,
    namespace_id LowCardinality(String),
    source LowCardinality(String),
    day Date CODEC(Delta, ZSTD(1)),
    count UInt64 CODEC(T64, ZSTD(1)),
    sum Decimal(76, 18) CODEC(ZSTD(1)),
    min Decimal(38, 18) CODEC(ZSTD(1)),
    max Decimal(38, 18) CODEC(ZSTD(1)),
    latest Decimal(38, 18) CODEC(ZSTD(1)),
    latest_accepted_at DateTime64(6, 'UTC') CODEC(Delta, ZSTD(1)),
    latest_id FixedString(16) CODEC(ZSTD(1)),
    version UInt128 CODEC(ZSTD(1))
)
ENGINE = ReplacingMergeTree(version)
PARTITION BY (epoch, toYear(day))
ORDER BY (epoch, namespace_id, source, day)
SETTINGS index_granularity = 1024, fsync_after_insert = 1, fsync_part_directory = 1, non_replicated_deduplication_window = 0,
    min_rows_to_fsync_after_merge = 1, max_suspicious_broken_parts = 0,
    min_bytes_for_wide_part = 1000000000, min_age_to_force_merge_seconds = 3600, min_age_to_force_merge_on_partition_only = 1
