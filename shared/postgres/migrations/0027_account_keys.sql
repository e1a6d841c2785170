-- phase: expand
-- oldest: 0.1.0
-- A key of one account lets a web page show a customer its own usage: it may only read that account, and it always ends.
--
-- Why no foreign key: a key belongs to the company and outlives a reset, which empties the namespace of the account. The key
-- then finds nothing.
ALTER TABLE api_keys ADD COLUMN account_id text COLLATE "C" CHECK (account_id ~ '^account_[0-9a-f]{32}$');
ALTER TABLE api_keys DROP CONSTRAINT api_keys_permissions_check;
ALTER TABLE api_keys ADD CONSTRAINT api_keys_permissions_check CHECK (
  CASE WHEN account_id IS NULL THEN permissions <@ ARRAY['read:all', 'write:all', 'manage:keys']
  ELSE permissions = ARRAY['read:account'] AND expires_at IS NOT NULL END);

-- A company may have a key for each visit of a customer. They are in an index of their own, so that the list of the
-- company's other keys does not pass over them.
DROP INDEX api_keys_by_company;
CREATE INDEX api_keys_by_company ON api_keys (company_id, created_at, key_id) WHERE account_id IS NULL;
CREATE INDEX api_keys_by_account ON api_keys (company_id, account_id, created_at, key_id) WHERE account_id IS NOT NULL;
