-- phase: expand
-- oldest: 0.1.0
-- For constraints that compare ids for equality and ranges for overlap in one index. Not in our schema: its functions are not
-- ours to give to the services.
CREATE EXTENSION IF NOT EXISTS btree_gist SCHEMA public;

-- A timeline of rates. Its row is locked by who changes them, and shared by who begins to follow it.
CREATE TABLE rate_cards (
  namespace_id uuid NOT NULL REFERENCES namespaces,
  rate_card_id text COLLATE "C" NOT NULL CHECK (rate_card_id ~ '^rate_card_[0-9a-f]{32}$'),
  name text NOT NULL CHECK (char_length(name) BETWEEN 1 AND 256),
  currency text COLLATE "C" NOT NULL CHECK (currency ~ '^[a-z]{3}$'),
  description text CHECK (char_length(description) <= 2048),
  external_id text COLLATE "C" CHECK (char_length(external_id) BETWEEN 1 AND 256),
  created_at timestamptz NOT NULL,
  updated_at timestamptz NOT NULL,
  archived_at timestamptz,
  PRIMARY KEY (namespace_id, rate_card_id)
);

CREATE UNIQUE INDEX rate_cards_external_id ON rate_cards (namespace_id, external_id);
CREATE UNIQUE INDEX rate_cards_by_creation ON rate_cards (namespace_id, created_at, rate_card_id);

ALTER TABLE rate_cards ENABLE ROW LEVEL SECURITY;
ALTER TABLE rate_cards FORCE ROW LEVEL SECURITY;
CREATE POLICY of_namespace ON rate_cards USING (namespace_id = nullif(current_setting('tally.namespace_id', true), '')::uuid);

-- Which usage is measured how. Never edited: the services may change nothing but when one ends (see migrate.ts).
CREATE TABLE rates (
  namespace_id uuid NOT NULL REFERENCES namespaces,
  rate_id text COLLATE "C" NOT NULL CHECK (rate_id ~ '^rate_[0-9a-f]{32}$'),
  rate_card_id text COLLATE "C" NOT NULL,
  -- Neither: a fixed charge.
  metric_id text COLLATE "C",
  currency text COLLATE "C" CHECK (currency ~ '^[a-z]{3}$'),
  aggregation text COLLATE "C" NOT NULL CHECK (aggregation IN ('count', 'sum', 'min', 'max', 'avg', 'latest')),
  filters jsonb NOT NULL CHECK (jsonb_typeof(filters) = 'array'),
  group_by text CHECK (char_length(group_by) >= 1),
  -- A digest of what it asks of properties: two of one card with equal scopes, of one source and aggregation, reach the same
  -- events. Scopes that differ may overlap too; that is judged under the card's lock.
  scope_digest text COLLATE "C" NOT NULL,
  starts_at timestamptz NOT NULL,
  -- At its start: it was withdrawn, and is in force never.
  ends_at timestamptz CHECK (ends_at >= starts_at),
  created_at timestamptz NOT NULL,
  PRIMARY KEY (namespace_id, rate_id),
  CONSTRAINT rates_rate_card FOREIGN KEY (namespace_id, rate_card_id) REFERENCES rate_cards,
  CONSTRAINT rates_metric FOREIGN KEY (namespace_id, metric_id) REFERENCES metrics,
  CHECK (metric_id IS NULL OR currency IS NULL),
  CONSTRAINT rates_equal EXCLUDE USING gist (
    namespace_id WITH =, rate_card_id WITH =, (coalesce(metric_id, currency)) WITH =, aggregation WITH =,
    scope_digest WITH =, tstzrange(starts_at, ends_at) WITH &&
  ) WHERE (metric_id IS NOT NULL OR currency IS NOT NULL)
);

CREATE INDEX rates_by_rate_card ON rates (namespace_id, rate_card_id, created_at, rate_id);

ALTER TABLE rates ENABLE ROW LEVEL SECURITY;
ALTER TABLE rates FORCE ROW LEVEL SECURITY;
CREATE POLICY of_namespace ON rates USING (namespace_id = nullif(current_setting('tally.namespace_id', true), '')::uuid);

-- The prices of a rate: by the values of its group_by, and one without a value for all others, or for all. That there is the
-- namespace follows from the rate: a card is written with up to 2,000 of them, and each reference is looked up.
CREATE TABLE rate_prices (
  namespace_id uuid NOT NULL,
  rate_id text COLLATE "C" NOT NULL,
  value text COLLATE "C" CHECK (char_length(value) BETWEEN 1 AND 500),
  price_id text COLLATE "C" NOT NULL,
  CONSTRAINT rate_prices_value UNIQUE NULLS NOT DISTINCT (namespace_id, rate_id, value),
  CONSTRAINT rate_prices_rate FOREIGN KEY (namespace_id, rate_id) REFERENCES rates,
  CONSTRAINT rate_prices_price FOREIGN KEY (namespace_id, price_id) REFERENCES prices
);

ALTER TABLE rate_prices ENABLE ROW LEVEL SECURITY;
ALTER TABLE rate_prices FORCE ROW LEVEL SECURITY;
CREATE POLICY of_namespace ON rate_prices USING (namespace_id = nullif(current_setting('tally.namespace_id', true), '')::uuid);
