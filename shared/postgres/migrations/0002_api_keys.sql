-- API keys belong to a company, not to a namespace: they outlive a reset. Only a digest of the secret is kept; a key is
-- 190 random bits, so a plain SHA-256 is enough.
CREATE TABLE api_keys (
  key_id uuid PRIMARY KEY,
  company_id uuid NOT NULL REFERENCES companies,
  name text NOT NULL CHECK (char_length(name) BETWEEN 1 AND 256),
  digest bytea NOT NULL UNIQUE CHECK (octet_length(digest) = 32),
  last_characters text NOT NULL,
  permissions text[] NOT NULL CHECK (permissions <@ ARRAY['read:all', 'write:all', 'manage:keys']),
  created_at timestamptz NOT NULL DEFAULT clock_timestamp(),
  expires_at timestamptz,
  revoked_at timestamptz
);

CREATE INDEX api_keys_by_company ON api_keys (company_id, created_at, key_id);
