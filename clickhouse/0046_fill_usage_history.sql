-- What was stored before there was this table. Repeating this changes nothing.
INSERT INTO usage_history (namespace_id, account_id, source, occurred_at, id, quantity, voided, version, insert_mark)
SELECT namespace_id, account_id, source, occurred_at, id, quantity, voided, version, 0
FROM usage_events
WHERE toUnixTimestamp64Micro(accepted_at) >= (toUnixTimestamp(occurred_at) + 3456000) * 1000000
