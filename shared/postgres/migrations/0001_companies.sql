-- phase: expand
-- oldest: 0.1.0
-- A company is a customer of Tally. Its rows live in its current namespace; resetting a test company retires that and
-- opens a new one, so everything is gone at once.
CREATE TABLE companies (
  company_id uuid PRIMARY KEY,
  name text NOT NULL UNIQUE CHECK (char_length(name) BETWEEN 1 AND 256),
  mode text NOT NULL CHECK (mode IN ('live', 'test')),
  created_at timestamptz NOT NULL DEFAULT clock_timestamp()
);

CREATE TABLE namespaces (
  namespace_id uuid PRIMARY KEY,
  company_id uuid NOT NULL REFERENCES companies,
  created_at timestamptz NOT NULL DEFAULT clock_timestamp(),
  retired_at timestamptz,
  -- One that was retired by a reset is emptied, and looked at again later: rows may come late, out of the event log.
  emptied_at timestamptz,
  empty_again_at timestamptz
);

CREATE UNIQUE INDEX namespaces_current ON namespaces (company_id) WHERE retired_at IS NULL;
CREATE INDEX namespaces_to_empty ON namespaces (empty_again_at) WHERE empty_again_at IS NOT NULL;
