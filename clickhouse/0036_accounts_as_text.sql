-- A balance reads a few rows of many parts. With a dictionary for accounts it read the dictionary of each part first, which
-- grows with the number of accounts; sorted as they are, accounts are as small without one.
ALTER TABLE usage_by_day MODIFY COLUMN account_id String CODEC(ZSTD(1)) SETTINGS mutations_sync = 1
