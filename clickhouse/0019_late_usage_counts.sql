-- How many marks of late usage an account has ever had; those of all accounts under an empty account. Whoever remembers what
-- was closed of an account looks here whether it still holds: a mark is counted before the usage it is about is stored.
CREATE TABLE IF NOT EXISTS late_usage_counts
(
    namespace_id LowCardinality(String),
    account_id LowCardinality(String),
    marks SimpleAggregateFunction(sum, UInt64)
)
ENGINE = AggregatingMergeTree
ORDER BY (namespace_id, account_id)
SETTINGS index_granularity = 1024, fsync_after_insert = 1, fsync_part_directory = 1, non_replicated_deduplication_window = 0
