-- clickhouse-connect 1.12, its SQLAlchemy dialect and ibis 12, as recorded

SELECT version(), timezone();

SELECT name, value, readonly FROM system.settings LIMIT 10000 FORMAT Native;

SELECT 1 AS check FORMAT Native;

SELECT count() FROM events FORMAT Native;

SELECT count() FROM events WHERE account_id = 'account_00000000000000000000000000000007' FORMAT Native;

SELECT * FROM events LIMIT 5 FORMAT Native;

SELECT event_id, quantity FROM events LIMIT 5 FORMAT Arrow;

SHOW TABLES;

SELECT currentDatabase() FORMAT Native;

SHOW DATABASES FORMAT Native;

SHOW TABLES FROM `tally_analytics` FORMAT Native;

SELECT name FROM system.tables WHERE database = 'tally_analytics' AND engine IN ('View', 'WindowView') ORDER BY name FORMAT Native;

SELECT engine, engine_full, comment FROM system.tables WHERE database = 'tally_analytics' AND name = 'events' FORMAT Native;

DESCRIBE TABLE `tally_analytics`.`events` FORMAT Native;

SELECT name FROM system.tables WHERE database = CURRENT_DATABASE() OR is_temporary FORMAT Native;

SELECT name FROM system.tables WHERE database = 'tally_analytics' OR is_temporary FORMAT Native;

SELECT name FROM system.databases FORMAT Native;

DESCRIBE events FORMAT Native;

SELECT "t0"."currency" AS "currency", COUNT(*) AS "n" FROM "events" AS "t0" GROUP BY "t0"."currency" FORMAT Native;

SELECT "t0"."event_id" AS "event_id", "t0"."account_id" AS "account_id" FROM "events" AS "t0" LIMIT 5 FORMAT Native;
