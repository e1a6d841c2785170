-- phase: expand
-- oldest: 0.1.0
-- Which currencies were ever reported, and when first and last: a row for each insert block and currency, merged into one.
-- Least and greatest are the only facts kept, because they stay the same however often a row is loaded.
CREATE TABLE IF NOT EXISTS reported_currencies
(
    namespace_id LowCardinality(String),
    currency LowCardinality(String),
    first_reported_at SimpleAggregateFunction(min, DateTime('UTC')),
    last_reported_at SimpleAggregateFunction(max, DateTime('UTC'))
)
ENGINE = AggregatingMergeTree
ORDER BY (namespace_id, currency)
SETTINGS fsync_after_insert = 1, fsync_part_directory = 1, non_replicated_deduplication_window = 0,
    min_rows_to_fsync_after_merge = 1, max_suspicious_broken_parts = 0
