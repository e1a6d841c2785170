-- phase: expand
-- oldest: 0.1.0
-- A key says what it was used for: which resource, with which content. A second request with it is told so.
--
-- form 1: of before. The digest of a report is of the bytes of its body, others have none; the ids that a key gives to events do
-- not tell its route (`tally/request` in shared/domain/usage-event.ts). Reports that have begun so go on so.
-- form 2: the digest is of what the request asks for, whatever way it is written; ids of events tell the route.
--
-- Why the digest has another name, and form no default: a process of before must not use a key in its way once there are keys of
-- this form. It would take one that has begun for one that is done. It fails, having done nothing, until it is replaced.
ALTER TABLE idempotency_keys RENAME COLUMN body_digest TO digest;
ALTER TABLE idempotency_keys
  ADD COLUMN form smallint NOT NULL DEFAULT 1 CHECK (form IN (1, 2)),
  -- What was made or changed, as it stands in its path; of reports the first event.
  ADD COLUMN resource_id text COLLATE "C",
  -- How many events were reported.
  ADD COLUMN event_count integer CHECK (event_count > 0);
ALTER TABLE idempotency_keys ALTER COLUMN form DROP DEFAULT;
