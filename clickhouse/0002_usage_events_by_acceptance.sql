-- phase: expand
-- oldest: 0.1.0
-- The same events in the order the API lists them: by the second they were accepted in, then by id. A page is read here,
-- then the current rows are fetched from usage_events by their keys.
--
-- The indexes find the events of one account or metric without reading all of it: a page of an account with few events reads
-- a few granules, however many events there are. Why not a second table in another order: it takes 21 bytes an event and a
-- fifth more work for each insert, and would have to exist once for accounts and once for metrics; the two indexes take 5
-- bytes, and are used together when both are asked for.
CREATE TABLE IF NOT EXISTS usage_events_by_acceptance
(
    namespace_id LowCardinality(String),
    accepted_second DateTime('UTC') CODEC(Delta, ZSTD(1)),
    id FixedString(16),
    account_id LowCardinality(String) CODEC(ZSTD(1)),
    source LowCardinality(String),
    INDEX account_text account_id TYPE text(tokenizer = 'array'),
    INDEX source_text source TYPE text(tokenizer = 'array')
)
ENGINE = ReplacingMergeTree
PARTITION BY toYYYYMM(accepted_second)
ORDER BY (namespace_id, accepted_second, id)
SETTINGS fsync_after_insert = 1, fsync_part_directory = 1, non_replicated_deduplication_window = 0,
    min_rows_to_fsync_after_merge = 1, max_suspicious_broken_parts = 0
