-- phase: expand
-- oldest: 0.1.0
-- Usage of each account and source in each time slot, recomputed from the events and overwritten, never incremented. The
-- version is the sum of the versions of the events, void ones included: any change of the data makes it grow, so what was
-- computed from more beats what was computed from less, whoever writes it and whenever.
--
-- A balance reads a few rows of many parts. With a dictionary for accounts it read the dictionary of each part first, which
-- grows with the number of accounts; sorted as they are, accounts are as small without one. What reading an account costs is
-- the number of files it opens: a part keeps its columns in one file, up to a size at which that would read too much, and a
-- day that nothing was written to for an hour becomes one part.
--
-- Rows whose events are all void stay, with a count of 0. latest_id begins with the second its event occurred in.
CREATE TABLE IF NOT EXISTS usage_by_slot
(
    epoch UInt32,
    namespace_id LowCardinality(String),
    account_id String CODEC(ZSTD(1)),
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
ORDER BY (epoch, namespace_id, account_id, source, slot)
TTL slot + INTERVAL 40 DAY
SETTINGS index_granularity = 1024, ttl_only_drop_parts = 1, fsync_after_insert = 1, fsync_part_directory = 1, non_replicated_deduplication_window = 0,
    min_rows_to_fsync_after_merge = 1, max_suspicious_broken_parts = 0,
    min_bytes_for_wide_part = 1000000000, min_age_to_force_merge_seconds = 3600, min_age_to_force_merge_on_partition_only = 1
