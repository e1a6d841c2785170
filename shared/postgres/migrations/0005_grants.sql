-- Credit. Never deleted and never changed in what it grants: voiding and archiving look forward only.
CREATE TABLE grants (
  namespace_id uuid NOT NULL REFERENCES namespaces,
  grant_id text COLLATE "C" NOT NULL CHECK (grant_id ~ '^grant_[0-9a-f]{32}$'),
  account_id text COLLATE "C" NOT NULL,
  metric_id text COLLATE "C",
  currency text COLLATE "C" CHECK (currency ~ '^[a-z]{3}$'),
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

CREATE INDEX grants_by_creation ON grants (namespace_id, created_at, grant_id);
CREATE INDEX grants_by_account ON grants (namespace_id, account_id);

ALTER TABLE grants ENABLE ROW LEVEL SECURITY;
ALTER TABLE grants FORCE ROW LEVEL SECURITY;
CREATE POLICY of_namespace ON grants USING (namespace_id = nullif(current_setting('tally.namespace_id', true), '')::uuid);
