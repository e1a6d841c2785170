-- phase: expand
-- oldest: 0.1.0
-- Analysts who see one company each, and the database in ClickHouse that holds the company's views. Both belong to the
-- company, not to a namespace: they outlive a reset.
CREATE TABLE analyst_databases (
  company_id uuid PRIMARY KEY REFERENCES companies,
  -- The N of the database {database}_company_N. The embedded engine has a role for each N, made in advance. No number is
  -- used twice.
  number integer NOT NULL UNIQUE CHECK (number > 0),
  -- The namespace that the views were made for; null until there are views. A reset gives the company another namespace,
  -- and the views follow.
  shown_namespace uuid REFERENCES namespaces
);

-- Only a digest of the password is kept; a password is 190 random bits, so a plain SHA-256 is enough.
CREATE TABLE analysts (
  analyst_id uuid PRIMARY KEY,
  company_id uuid NOT NULL REFERENCES analyst_databases,
  name text COLLATE "C" NOT NULL CHECK (name ~ '^[A-Za-z][A-Za-z0-9_.@-]{0,63}$'),
  digest bytea NOT NULL UNIQUE CHECK (octet_length(digest) = 32),
  created_at timestamptz NOT NULL DEFAULT clock_timestamp(),
  revoked_at timestamptz
);

-- Over all companies, because an analyst signs in by name. The name of a revoked analyst can be given again.
CREATE UNIQUE INDEX analysts_name ON analysts (name) WHERE revoked_at IS NULL;
CREATE INDEX analysts_by_company ON analysts (company_id, created_at, analyst_id);
