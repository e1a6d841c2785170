-- phase: expand
-- oldest: 0.1.0
-- An account's agreement. Its row is locked by who changes it or its lines.
CREATE TABLE contracts (
  namespace_id uuid NOT NULL REFERENCES namespaces,
  contract_id uuid NOT NULL,
  account_id text COLLATE "C" NOT NULL,
  currency text COLLATE "C" NOT NULL CHECK (currency ~ '^[a-z]{3}$'),
  cadence text COLLATE "C" NOT NULL CHECK (cadence IN ('day', 'week', 'month', 'quarter', 'half_year', 'year')),
  anchor_at timestamptz NOT NULL,
  starts_at timestamptz NOT NULL,
  ends_at timestamptz CHECK (ends_at > starts_at),
  -- All that is known of a cancellation that was asked for and not taken back.
  cancel_at timestamptz CHECK (cancel_at <= ends_at),
  cancel_mode text COLLATE "C" CHECK (cancel_mode IN ('immediate', 'period_end', 'at')),
  cancel_reason text CHECK (char_length(cancel_reason) <= 2048),
  cancel_requested_at timestamptz,
  name text CHECK (char_length(name) BETWEEN 1 AND 256),
  description text CHECK (char_length(description) <= 2048),
  external_id text COLLATE "C" CHECK (char_length(external_id) BETWEEN 1 AND 256),
  created_at timestamptz NOT NULL,
  updated_at timestamptz NOT NULL,
  PRIMARY KEY (namespace_id, contract_id),
  -- So that a line can be of no account but its contract's.
  CONSTRAINT contracts_with_account UNIQUE (namespace_id, contract_id, account_id),
  CONSTRAINT contracts_account FOREIGN KEY (namespace_id, account_id) REFERENCES accounts,
  CHECK (num_nonnulls(cancel_at, cancel_mode, cancel_requested_at) IN (0, 3)),
  CHECK (cancel_reason IS NULL OR cancel_at IS NOT NULL)
);

CREATE UNIQUE INDEX contracts_external_id ON contracts (namespace_id, external_id);
CREATE UNIQUE INDEX contracts_by_creation ON contracts (namespace_id, created_at, contract_id);
CREATE INDEX contracts_by_account ON contracts (namespace_id, account_id, created_at, contract_id);

ALTER TABLE contracts ENABLE ROW LEVEL SECURITY;
ALTER TABLE contracts FORCE ROW LEVEL SECURITY;
CREATE POLICY of_namespace ON contracts USING (namespace_id = nullif(current_setting('tally.namespace_id', true), '')::uuid);

-- A timeline of what a contract charges and gives. Never edited: the services may change nothing but when one ends, and
-- `during` with it, and how far its credit is given (see migrate.ts).
CREATE TABLE contract_lines (
  namespace_id uuid NOT NULL REFERENCES namespaces,
  contract_line_id text COLLATE "C" NOT NULL CHECK (contract_line_id ~ '^contract_line_[0-9a-f]{32}$'),
  contract_id uuid NOT NULL,
  account_id text COLLATE "C" NOT NULL,
  -- So that the contracts that follow a card can be listed in their order. A trigger takes it from the contract.
  contract_created_at timestamptz NOT NULL,
  starts_at timestamptz NOT NULL,
  -- At its start: it was withdrawn, and is in force never.
  ends_at timestamptz CHECK (ends_at >= starts_at),
  -- When it is in force: from start to end, cut by its contract's. A trigger keeps it so.
  during tstzrange NOT NULL,
  description text CHECK (char_length(description) <= 2048),
  -- Exactly one of: follows a card …
  rate_card_id text COLLATE "C",
  -- … charges a price for a stated quantity …
  price_id text COLLATE "C",
  quantity numeric(38, 18) CHECK (quantity >= 0),
  discount_percent numeric(21, 18) CHECK (discount_percent BETWEEN 0 AND 100),
  -- … sets what a period comes to at least …
  minimum_amount numeric(38, 18) CHECK (minimum_amount >= 0),
  -- … or gives credit with each period.
  credit_amount numeric(38, 18) CHECK (credit_amount > 0),
  credit_metric_id text COLLATE "C",
  credit_currency text COLLATE "C" CHECK (credit_currency ~ '^[a-z]{3}$'),
  credit_expires text COLLATE "C" CHECK (credit_expires IN ('never', 'period_end')),
  -- When it gives credit next, if it is in force then: its own start, later that of the first period it gave nothing with.
  next_credit_at timestamptz,
  created_at timestamptz NOT NULL,
  PRIMARY KEY (namespace_id, contract_line_id),
  CONSTRAINT contract_lines_contract
    FOREIGN KEY (namespace_id, contract_id, account_id) REFERENCES contracts (namespace_id, contract_id, account_id),
  CONSTRAINT contract_lines_rate_card FOREIGN KEY (namespace_id, rate_card_id) REFERENCES rate_cards,
  CONSTRAINT contract_lines_price FOREIGN KEY (namespace_id, price_id) REFERENCES prices,
  CONSTRAINT contract_lines_credit_metric FOREIGN KEY (namespace_id, credit_metric_id) REFERENCES metrics,
  CHECK (num_nonnulls(rate_card_id, price_id, minimum_amount, credit_amount) = 1),
  CHECK ((price_id IS NULL) = (quantity IS NULL)),
  CHECK ((rate_card_id IS NULL AND price_id IS NULL) = (discount_percent IS NULL)),
  CHECK ((credit_amount IS NULL) = (credit_expires IS NULL)),
  CHECK ((credit_amount IS NULL) = (next_credit_at IS NULL)),
  CHECK (num_nonnulls(credit_metric_id, credit_currency) = num_nonnulls(credit_amount)),
  -- What a metric's expired grant leaves behind would take back what was used of it.
  CHECK (credit_metric_id IS NULL OR credit_expires = 'never'),
  -- An account follows one card at a time, over all its contracts: no event meets two.
  CONSTRAINT contract_lines_one_card EXCLUDE USING gist (namespace_id WITH =, account_id WITH =, during WITH &&)
    WHERE (rate_card_id IS NOT NULL),
  CONSTRAINT contract_lines_one_minimum EXCLUDE USING gist (namespace_id WITH =, contract_id WITH =, during WITH &&)
    WHERE (minimum_amount IS NOT NULL)
);

CREATE INDEX contract_lines_by_contract ON contract_lines (namespace_id, contract_id, created_at, contract_line_id);
CREATE INDEX contract_lines_by_rate_card ON contract_lines (namespace_id, rate_card_id, contract_created_at, contract_id)
  WHERE rate_card_id IS NOT NULL;
CREATE INDEX contract_lines_by_account_and_rate_card
  ON contract_lines (namespace_id, account_id, rate_card_id, contract_created_at, contract_id) WHERE rate_card_id IS NOT NULL;
-- Those that give credit again, by when they do: who asks for what is due reads that and nothing else, however many there are.
-- A line that is over by then is not among them, and comes back with a cancellation that is taken back.
CREATE INDEX contract_lines_by_next_credit ON contract_lines (namespace_id, next_credit_at, contract_id, contract_line_id)
  WHERE during @> next_credit_at;

ALTER TABLE contract_lines ENABLE ROW LEVEL SECURITY;
ALTER TABLE contract_lines FORCE ROW LEVEL SECURITY;
CREATE POLICY of_namespace ON contract_lines
  USING (namespace_id = nullif(current_setting('tally.namespace_id', true), '')::uuid);

CREATE FUNCTION cut_contract_line() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE
  begins timestamptz;
  ends timestamptz;
BEGIN
  SELECT c.created_at, greatest(c.starts_at, NEW.starts_at), least(c.ends_at, c.cancel_at, NEW.ends_at)
    INTO NEW.contract_created_at, begins, ends
    FROM contracts c WHERE c.namespace_id = NEW.namespace_id AND c.contract_id = NEW.contract_id;
  -- A contract that was canceled before it began, or a line that was to begin later, is in force never.
  NEW.during := CASE WHEN ends <= begins THEN 'empty' ELSE tstzrange(begins, ends) END;
  IF TG_OP = 'INSERT' AND NEW.credit_amount IS NOT NULL THEN
    NEW.next_credit_at := begins;
  END IF;
  RETURN NEW;
END $$;
CREATE TRIGGER cut BEFORE INSERT OR UPDATE OF ends_at ON contract_lines FOR EACH ROW EXECUTE FUNCTION cut_contract_line();

CREATE FUNCTION cut_lines_of_contract() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  UPDATE contract_lines SET ends_at = ends_at WHERE namespace_id = NEW.namespace_id AND contract_id = NEW.contract_id;
  RETURN NULL;
END $$;
CREATE TRIGGER cut_lines AFTER UPDATE OF ends_at, cancel_at ON contracts FOR EACH ROW
  WHEN (OLD.ends_at IS DISTINCT FROM NEW.ends_at OR OLD.cancel_at IS DISTINCT FROM NEW.cancel_at)
  EXECUTE FUNCTION cut_lines_of_contract();

-- A contract's own prices, wherever the card that a line follows prices a product: for one value of the rate's property, for
-- the rest (a value that is null), or for all that no other override names.
CREATE TABLE contract_line_overrides (
  namespace_id uuid NOT NULL REFERENCES namespaces,
  contract_line_id text COLLATE "C" NOT NULL,
  -- In the order in which they were given.
  nth integer NOT NULL CHECK (nth >= 0),
  product_id text COLLATE "C" NOT NULL,
  has_value boolean NOT NULL,
  value text COLLATE "C" CHECK (char_length(value) BETWEEN 1 AND 500),
  price_id text COLLATE "C" NOT NULL,
  PRIMARY KEY (namespace_id, contract_line_id, nth),
  CONSTRAINT contract_line_overrides_value
    UNIQUE NULLS NOT DISTINCT (namespace_id, contract_line_id, product_id, has_value, value),
  CONSTRAINT contract_line_overrides_line FOREIGN KEY (namespace_id, contract_line_id) REFERENCES contract_lines,
  CONSTRAINT contract_line_overrides_product FOREIGN KEY (namespace_id, product_id) REFERENCES products,
  CONSTRAINT contract_line_overrides_price FOREIGN KEY (namespace_id, price_id) REFERENCES prices,
  CHECK (has_value OR value IS NULL)
);

ALTER TABLE contract_line_overrides ENABLE ROW LEVEL SECURITY;
ALTER TABLE contract_line_overrides FORCE ROW LEVEL SECURITY;
CREATE POLICY of_namespace ON contract_line_overrides
  USING (namespace_id = nullif(current_setting('tally.namespace_id', true), '')::uuid);

-- Which grant a credit line gave with a period. The key makes sure that it gives one, whoever does so and how often; it is
-- taken before the grant is made.
CREATE TABLE contract_credits (
  namespace_id uuid NOT NULL REFERENCES namespaces,
  contract_line_id text COLLATE "C" NOT NULL,
  period_start_at timestamptz NOT NULL,
  grant_id text COLLATE "C" NOT NULL,
  created_at timestamptz NOT NULL DEFAULT clock_timestamp(),
  PRIMARY KEY (namespace_id, contract_line_id, period_start_at),
  CONSTRAINT contract_credits_line FOREIGN KEY (namespace_id, contract_line_id) REFERENCES contract_lines,
  CONSTRAINT contract_credits_grant FOREIGN KEY (namespace_id, grant_id) REFERENCES grants DEFERRABLE
);

CREATE UNIQUE INDEX contract_credits_by_grant ON contract_credits (namespace_id, grant_id);

ALTER TABLE contract_credits ENABLE ROW LEVEL SECURITY;
ALTER TABLE contract_credits FORCE ROW LEVEL SECURITY;
CREATE POLICY of_namespace ON contract_credits
  USING (namespace_id = nullif(current_setting('tally.namespace_id', true), '')::uuid);

CREATE INDEX grants_by_contract ON grants (namespace_id, contract_v1_id, created_at, grant_id)
  WHERE contract_v1_id IS NOT NULL;
