-- phase: expand
-- oldest: 0.1.0
-- Automatic refills, at most one configuration for each account and metric. A currency has none.
CREATE TABLE refill_configurations (
  namespace_id uuid NOT NULL REFERENCES namespaces,
  account_id text COLLATE "C" NOT NULL,
  metric_id text COLLATE "C" NOT NULL,
  minimum_balance numeric(38, 18) NOT NULL,
  target_balance numeric(38, 18) NOT NULL,
  is_active boolean NOT NULL,
  -- How many refills were made. The next one takes its number from here, under this row's lock, so that it is made once.
  occurrences bigint NOT NULL DEFAULT 0 CHECK (occurrences >= 0),
  created_at timestamptz NOT NULL,
  updated_at timestamptz NOT NULL,
  PRIMARY KEY (namespace_id, account_id, metric_id),
  CONSTRAINT refill_configurations_account FOREIGN KEY (namespace_id, account_id) REFERENCES accounts,
  CONSTRAINT refill_configurations_metric FOREIGN KEY (namespace_id, metric_id) REFERENCES metrics,
  CONSTRAINT refill_configurations_target CHECK (target_balance > minimum_balance)
);

-- One for each way to list them.
CREATE INDEX refill_configurations_by_creation
  ON refill_configurations (namespace_id, created_at, account_id, metric_id);
CREATE INDEX refill_configurations_by_account
  ON refill_configurations (namespace_id, account_id, created_at, metric_id);
CREATE INDEX refill_configurations_by_metric
  ON refill_configurations (namespace_id, metric_id, created_at, account_id);

ALTER TABLE refill_configurations ENABLE ROW LEVEL SECURITY;
ALTER TABLE refill_configurations FORCE ROW LEVEL SECURITY;
CREATE POLICY of_namespace ON refill_configurations
  USING (namespace_id = nullif(current_setting('tally.namespace_id', true), '')::uuid);

-- Every automatic refill, and what it was computed from. The next one of a configuration takes its number from the
-- configuration's row, under its lock; the primary key makes sure that no number is used twice.
CREATE TABLE refills (
  namespace_id uuid NOT NULL REFERENCES namespaces,
  account_id text COLLATE "C" NOT NULL,
  metric_id text COLLATE "C" NOT NULL,
  occurrence bigint NOT NULL CHECK (occurrence >= 1),
  grant_id text COLLATE "C" NOT NULL,
  -- What the configuration said.
  minimum_balance numeric(38, 18) NOT NULL,
  target_balance numeric(38, 18) NOT NULL,
  -- What was read under the lock; sums may have more digits than an amount.
  grant_total numeric NOT NULL,
  usage_total numeric NOT NULL,
  amount numeric(38, 18) NOT NULL,
  -- The namespace's now, at which the grants were in force; the grant is effective from then on.
  effective_at timestamptz NOT NULL,
  created_at timestamptz NOT NULL, -- real time, which the guards count by
  PRIMARY KEY (namespace_id, account_id, metric_id, occurrence),
  CONSTRAINT refills_configuration
    FOREIGN KEY (namespace_id, account_id, metric_id) REFERENCES refill_configurations,
  CONSTRAINT refills_grant FOREIGN KEY (namespace_id, grant_id) REFERENCES grants,
  -- Whoever writes one: it was due, and it fills up to the target and not beyond.
  CONSTRAINT refills_due CHECK (grant_total - usage_total < minimum_balance),
  CONSTRAINT refills_up_to_target CHECK (amount = target_balance - (grant_total - usage_total))
);

CREATE UNIQUE INDEX refills_by_grant ON refills (namespace_id, grant_id);

ALTER TABLE refills ENABLE ROW LEVEL SECURITY;
ALTER TABLE refills FORCE ROW LEVEL SECURITY;
CREATE POLICY of_namespace ON refills USING (namespace_id = nullif(current_setting('tally.namespace_id', true), '')::uuid);
