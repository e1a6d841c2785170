-- phase: expand
-- oldest: 0.1.0
-- Which ClickHouse the usage is in. A loader on another one would go on from where the group is in the log, and leave usage in
-- each of the two; every number would look right.
CREATE TABLE usage_store (
  is_only boolean PRIMARY KEY DEFAULT true CHECK (is_only),
  id uuid NOT NULL,                 -- as in the table of this name in ClickHouse
  entered_at timestamptz NOT NULL DEFAULT clock_timestamp()
);
