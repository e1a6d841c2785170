INSERT INTO usage_store SELECT generateUUIDv4()
