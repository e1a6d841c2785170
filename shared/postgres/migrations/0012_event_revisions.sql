-- phase: expand
-- oldest: 0.1.0
-- What usage events were before and after each correction, each revision the whole event. Append-only: the services may add
-- rows and note that one was sent, nothing else. Revision 0 is the report as it counted when the first correction was made;
-- its row is also the lock of the event. ClickHouse keeps one row of an event, so this is the only trail.
CREATE TABLE event_revisions (
  namespace_id uuid NOT NULL REFERENCES namespaces,
  event_id text COLLATE "C" NOT NULL CHECK (event_id ~ '^event_[0-9a-f]{32}$'), -- it begins with occurred_at
  revision integer NOT NULL CHECK (revision >= 0),
  account_id text COLLATE "C" NOT NULL,
  metric_id text COLLATE "C",
  currency text COLLATE "C" CHECK (currency ~ '^[a-z]{3}$'),
  quantity numeric(38, 18) NOT NULL,
  properties text NOT NULL, -- JSON, to the letter as it is in ClickHouse
  voided boolean NOT NULL,
  -- Microseconds since 1970, as everywhere on the way of an event.
  accepted_at bigint NOT NULL,
  corrected_at bigint,
  -- The API key that made the correction.
  key_id uuid REFERENCES api_keys,
  made_at timestamptz NOT NULL DEFAULT clock_timestamp(),
  -- When the event log was known to have it.
  sent_at timestamptz,
  PRIMARY KEY (namespace_id, event_id, revision),
  CONSTRAINT event_revisions_account FOREIGN KEY (namespace_id, account_id) REFERENCES accounts,
  CONSTRAINT event_revisions_metric FOREIGN KEY (namespace_id, metric_id) REFERENCES metrics,
  CHECK ((metric_id IS NULL) <> (currency IS NULL)),
  CHECK ((revision = 0) = (corrected_at IS NULL)),
  CHECK ((revision = 0) = (key_id IS NULL)),
  CHECK (revision > 0 OR NOT voided)
);

-- For the relay, which sends what a crash left behind.
CREATE INDEX event_revisions_unsent ON event_revisions (made_at) WHERE sent_at IS NULL AND revision > 0;
-- For the audit.
CREATE INDEX event_revisions_by_time ON event_revisions (corrected_at, namespace_id, event_id) WHERE revision > 0;

ALTER TABLE event_revisions ENABLE ROW LEVEL SECURITY;
ALTER TABLE event_revisions FORCE ROW LEVEL SECURITY;
CREATE POLICY of_namespace ON event_revisions
  USING (namespace_id = nullif(current_setting('tally.namespace_id', true), '')::uuid);
-- The relay and the audit read those of every company; a setting that no request makes.
CREATE POLICY of_maintenance ON event_revisions FOR SELECT
  USING (current_setting('tally.every_namespace', true) = 'on');
