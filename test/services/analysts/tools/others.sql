-- Metabase, Lightdash, Cube: what their sources ask

SELECT count(*) > 0 FROM system.databases WHERE name = 'tally_analytics';

SELECT database AS table_catalog, database AS table_schema, table AS table_name, name AS column_name, type AS data_type FROM system.columns WHERE database = 'tally_analytics';

SELECT name AS table_name, database AS table_schema FROM system.tables WHERE database = 'tally_analytics';

SELECT columns.name as "column_name", columns.table as "table_name", columns.database as "table_schema", columns.type as "data_type" FROM system.columns columns WHERE columns.database NOT IN ('system', 'information_schema', 'INFORMATION_SCHEMA');

SELECT tables.name as "table_name", tables.database as "schema_name" FROM system.tables tables WHERE tables.database IN ('tally_analytics');

SELECT name as "schema_name" FROM system.databases WHERE name NOT IN ('system', 'information_schema', 'INFORMATION_SCHEMA');

SELECT table_schema, table_name, column_name, data_type, is_nullable, ordinal_position FROM information_schema.columns WHERE table_schema = 'tally_analytics' ORDER BY ordinal_position;

SELECT table_schema, table_name, table_type FROM INFORMATION_SCHEMA.TABLES;

SELECT schema_name FROM information_schema.schemata;

KILL QUERY WHERE query_id = 'cube.1';
