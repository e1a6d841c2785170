-- phase: expand
-- oldest: 0.1.0
-- The length of a slot, kept as an epoch that was never built. It is settled for good: tests alone choose another.
INSERT INTO rollup_epochs (epoch, slot_s, state) VALUES (0, 300, 2)
