-- What usage is found by that has a property: the first 96 bits of SHA-256 of each "name=value", as event ids are made. The
-- pairs themselves stand in the properties already; kept once more, with an index of their texts, they took 45 bytes an event
-- that a unique property has, and these take 30. Accounts are compressed for when there are too many for one dictionary.
ALTER TABLE usage_events
    ADD COLUMN IF NOT EXISTS property_tokens Array(FixedString(12))
        DEFAULT arrayMap(pair -> toFixedString(substring(SHA256(pair), 1, 12), 12), property_pairs) CODEC(ZSTD(1)),
    ADD INDEX IF NOT EXISTS property_tokens_text property_tokens TYPE text(tokenizer = 'array'),
    MODIFY COLUMN account_id CODEC(ZSTD(1))
