-- phase: expand
-- oldest: 0.1.0
-- Secrets that the processes of one installation share, made at random by the first that asks: such as the one that signs
-- what they keep in Redis, which others may be able to write to.
CREATE TABLE installation_secrets (
  name text PRIMARY KEY,
  secret bytea NOT NULL CHECK (octet_length(secret) = 32),
  created_at timestamptz NOT NULL DEFAULT clock_timestamp()
);
