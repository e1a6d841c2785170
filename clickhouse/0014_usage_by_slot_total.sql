-- phase: expand
-- oldest: 0.1.0
-- Usage of all accounts of a namespace together in each time slot of the last days, merged from usage_by_slot_by_time: what of
-- today is in no day's total yet.
CREATE TABLE IF NOT EXISTS usage_by_slot_total
(
    epoch UInt32,
    namespace_id LowCardinality(String),
    source LowCardinality(String),
    slot DateTime('UTC') CODEC(Delta, ZSTD(1)),
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
PARTITION BY (epoch, toYYYYMMDD(slot))
ORDER BY (epoch, namespace_id, source, slot)
TTL slot + INTERVAL 5 DAY
SETTINGS index_granularity = 1024, ttl_only_drop_parts = 1, fsync_after_insert = 1, fsync_part_directory = 1, non_replicated_deduplication_window = 0,
    min_rows_to_fsync_after_merge = 1, max_suspicious_broken_parts = 0
