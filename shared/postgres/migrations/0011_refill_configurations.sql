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
