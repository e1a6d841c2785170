-- The same events in the order the API lists them: by the second they were accepted in, then by id. A page is read here,
-- then the current rows are fetched from usage_events by their keys.
CREATE TABLE IF NOT EXISTS usage_events_by_acceptance
(
    namespace_id LowCardinality(String),
    accepted_second DateTime('UTC') CODEC(Delta, ZSTD(1)),
    id FixedString(16),
    account_id LowCardinality(String),
    source LowCardinality(String)
)
ENGINE = ReplacingMergeTree
PARTITION BY toYYYYMM(accepted_second)
ORDER BY (namespace_id, accepted_second, id)
SETTINGS fsync_after_insert = 1, fsync_part_directory = 1, non_replicated_deduplication_window = 0
