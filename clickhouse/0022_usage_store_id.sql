-- phase: expand
-- oldest: 0.1.0
INSERT INTO usage_store SELECT generateUUIDv4()
