-- Grafana's data source for ClickHouse 4: health, completion, ad-hoc filters, query builder, macros

SELECT 1;

SELECT version();

SHOW DATABASES;

SHOW TABLES FROM "tally_analytics";

DESC TABLE "tally_analytics"."events";

SELECT name FROM system.functions LIMIT 10000;

SELECT name, database, table FROM system.columns LIMIT 10000;

SELECT name, type, table FROM system.columns WHERE database IN ('tally_analytics');

SELECT DISTINCT currency FROM tally_analytics.events LIMIT 1000;

SELECT toStartOfInterval(toDateTime(occurred_at), INTERVAL 60 second) AS time, sum(quantity) FROM events WHERE occurred_at >= toDateTime(1767225600) AND occurred_at <= toDateTime(1767312000) GROUP BY time ORDER BY time;

SELECT toUnixTimestamp64Milli(accepted_at) AS ms FROM events WHERE accepted_at >= fromUnixTimestamp64Milli(1767225600000) AND accepted_at <= fromUnixTimestamp64Milli(1767312000000) LIMIT 10 SETTINGS max_execution_time=10;

EXPLAIN SELECT count() FROM events;

SELECT account_id, sum(quantity) FROM tally_analytics.events GROUP BY account_id LIMIT 100 settings additional_table_filters={'tally_analytics.events' : ' account_id = \'account_1\' '};

SELECT account_id FROM "tally_analytics"."events" LIMIT 100 settings additional_table_filters={'tally_analytics.events' : ' currency = \'usd\' AND quantity > \'5\' '}, max_execution_time=10;
