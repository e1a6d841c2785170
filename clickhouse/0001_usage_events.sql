-- phase: expand
-- oldest: 0.1.0
-- Every report and correction of usage, one row each; FINAL leaves the one that counts.
--
-- The whole sorting key and the partition follow from an event's identity (its id begins with occurred_at), so rows of
-- one event always meet, and FINAL is right within each partition alone. The five-minute slot stands first because raw
-- events are always read by slot: filter with the same expression, or the index is not used.
--
-- Rows arrive as JSON with event_id as text; FixedString sorts as that text does, ClickHouse's UUID type would not.
--
-- What usage is found by that has a property: the first 96 bits of SHA-256 of each "name=value", as event ids are made. The
-- pairs come with each line and are kept as tokens alone; the properties hold them already. Kept once more, with an index of
-- their texts, they took 45 bytes an event that a unique property has, and tokens take 30. Accounts are compressed for when
-- there are too many for one dictionary.
CREATE TABLE IF NOT EXISTS usage_events
(
    namespace_id LowCardinality(String),
    account_id LowCardinality(String) CODEC(ZSTD(1)),
    source LowCardinality(String),
    occurred_at DateTime('UTC') CODEC(Delta, ZSTD(1)),
    event_id String EPHEMERAL,
    id FixedString(16) DEFAULT unhex(substring(event_id, 7)),
    quantity Decimal(38, 18) CODEC(ZSTD(1)),
    properties String CODEC(ZSTD(1)),
    property_pairs Array(String) EPHEMERAL,
    property_tokens Array(FixedString(12))
        DEFAULT arrayMap(pair -> toFixedString(substring(SHA256(pair), 1, 12), 12), property_pairs) CODEC(ZSTD(1)),
    accepted_at DateTime64(6, 'UTC') CODEC(Delta, ZSTD(1)),
    corrected_at Nullable(DateTime64(6, 'UTC')) CODEC(ZSTD(1)),
    voided UInt8 DEFAULT 0,
    version UInt64 CODEC(Delta, ZSTD(1)),
    INDEX property_tokens_text property_tokens TYPE text(tokenizer = 'array')
)
ENGINE = ReplacingMergeTree(version)
PARTITION BY toYYYYMM(occurred_at)
ORDER BY (namespace_id, toStartOfFiveMinutes(occurred_at), account_id, source, occurred_at, id)
SETTINGS fsync_after_insert = 1, fsync_part_directory = 1, non_replicated_deduplication_window = 0,
    min_rows_to_fsync_after_merge = 1, max_suspicious_broken_parts = 0
