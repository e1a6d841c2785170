-- phase: expand
-- oldest: 0.1.0
-- Credit. Never deleted and never changed in what it grants: voiding and archiving look forward only.
CREATE TABLE grants (
  namespace_id uuid NOT NULL REFERENCES namespaces,
  grant_id text COLLATE "C" NOT NULL CHECK (grant_id ~ '^grant_[0-9a-f]{32}$'),
  account_id text COLLATE "C" NOT NULL,
  metric_id text COLLATE "C",
  currency text COLLATE "C" CHECK (currency ~ '^[a-z]{3}$'),
  -- Why a column: under row level security no index serves a condition on coalesce(metric_id, currency), because PostgreSQL
  -- does not take coalesce to be leakproof.
  source text COLLATE "C" NOT NULL GENERATED ALWAYS AS (coalesce(metric_id, currency)) STORED,
  amount numeric(38, 18) NOT NULL,
  description text CHECK (char_length(description) <= 2048),
  contract_v1_id uuid,
  effective_at timestamptz NOT NULL,
  expires_at timestamptz CHECK (expires_at > effective_at),
  accepted_at timestamptz NOT NULL,
  created_at timestamptz NOT NULL,
  updated_at timestamptz NOT NULL,
  voided_at timestamptz,
  archived_at timestamptz,
  PRIMARY KEY (namespace_id, grant_id),
  CONSTRAINT grants_account FOREIGN KEY (namespace_id, account_id) REFERENCES accounts,
  CONSTRAINT grants_metric FOREIGN KEY (namespace_id, metric_id) REFERENCES metrics,
  CHECK ((metric_id IS NULL) <> (currency IS NULL))
);

-- A page of the list costs the same wherever it lies: each filter has an index that is in the list's order.
CREATE INDEX grants_by_creation ON grants (namespace_id, created_at, grant_id);
CREATE INDEX grants_by_account ON grants (namespace_id, account_id, created_at, grant_id);
CREATE INDEX grants_by_source ON grants (namespace_id, source, created_at, grant_id);
-- It also finds the grants that a balance is made of.
CREATE INDEX grants_by_account_and_source ON grants (namespace_id, account_id, source, created_at, grant_id);

ALTER TABLE grants ENABLE ROW LEVEL SECURITY;
ALTER TABLE grants FORCE ROW LEVEL SECURITY;
CREATE POLICY of_namespace ON grants USING (namespace_id = nullif(current_setting('tally.namespace_id', true), '')::uuid);

-- Whether a grant counts at an instant: from when it is effective on, and not when it expires any more.
CREATE FUNCTION is_in_force(g grants, instant timestamptz) RETURNS boolean
LANGUAGE sql STABLE AS $$
  SELECT g.voided_at IS NULL AND g.archived_at IS NULL
    AND g.effective_at <= instant AND (g.expires_at IS NULL OR g.expires_at > instant)
$$;
