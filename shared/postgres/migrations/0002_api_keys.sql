-- phase: expand
-- oldest: 0.1.0
-- API keys belong to a company, not to a namespace: they outlive a reset. Only a digest of the secret is kept; a key is
-- 190 random bits, so a plain SHA-256 is enough.
--
-- A key that was rotated ends at its expires_at as any other does, so whoever authenticates asks one question. A key is rotated
-- once: its successor is unique.
CREATE TABLE api_keys (
  key_id uuid PRIMARY KEY,
  company_id uuid NOT NULL REFERENCES companies,
  name text NOT NULL CHECK (char_length(name) BETWEEN 1 AND 256),
  digest bytea NOT NULL UNIQUE CHECK (octet_length(digest) = 32),
  last_characters text NOT NULL,
  permissions text[] NOT NULL CHECK (permissions <@ ARRAY['read:all', 'write:all', 'manage:keys']),
  created_at timestamptz NOT NULL DEFAULT clock_timestamp(),
  expires_at timestamptz,
  revoked_at timestamptz,
  issued_by uuid,            -- the key that gave it; null: an operator
  replaced_by uuid UNIQUE,   -- the key that took its place
  last_used_at timestamptz,
  CONSTRAINT api_keys_of_company UNIQUE (company_id, key_id),
  CONSTRAINT api_keys_issued_by FOREIGN KEY (company_id, issued_by) REFERENCES api_keys (company_id, key_id),
  CONSTRAINT api_keys_replaced_by FOREIGN KEY (company_id, replaced_by) REFERENCES api_keys (company_id, key_id)
);

CREATE INDEX api_keys_by_company ON api_keys (company_id, created_at, key_id);
