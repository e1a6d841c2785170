-- dbt-core 1.10 with dbt-clickhouse 1.10.3: debug, compile, source freshness, test, docs generate and show, as recorded

SELECT version(), timezone();

SELECT name, value, readonly FROM system.settings LIMIT 10000 FORMAT Native;

SELECT 1 AS check FORMAT Native;

EXISTS DATABASE `tally_analytics`;

SELECT engine FROM system.databases WHERE name = database();

select 1 as id;

with mv_sources as ( select name as mv_name, database as mv_database, any(as_select) as mv_sql,any(replaceRegexpOne(create_table_query, '.*TO\\s+`\x3F([^`\\s(]+)`\x3F\\.`\x3F([^`\\s(]+)`\x3F.*', '\\1.\\2')) as target_fqn from system.tables where engine = 'MaterializedView' and create_table_query like '%TO %' group by mv_name, mv_database ) select t.name as name, t.database as schema, multiIf( t.engine = 'MaterializedView', 'materialized_view', t.engine = 'View', 'view', t.engine = 'Dictionary', 'dictionary', 'table' ) as type, db.engine as db_engine, groupArrayIf( map('schema', mv_sources.mv_database, 'name', mv_sources.mv_name, 'sql', mv_sources.mv_sql), mv_sources.mv_name != '' ) as mvs_pointing_to_it, max(position(substring(t.create_table_query, 1, position(t.create_table_query, ' TO ')), ' REFRESH ')) > 0 as is_refreshable, max(position(substring(t.create_table_query, 1, position(t.create_table_query, ' TO ')), ' APPEND')) > 0 as refreshable_append,0 as is_on_cluster from system.tables as t join system.databases as db on t.database = db.name left join mv_sources on mv_sources.target_fqn = concat(t.database, '.', t.name) where schema = 'tally_analytics' group by name, schema, type, db_engine FORMAT Native;

select max(accepted_at) as max_loaded_at, now() as snapshotted_at from `tally_analytics`.`events` FORMAT Native;

select count(*) as failures, count(*) != 0 as should_warn, count(*) != 0 as should_error from ( select event_id from `tally_analytics`.`events` where event_id is null ) dbt_internal_test FORMAT Native;

select count(*) as failures, count(*) != 0 as should_warn, count(*) != 0 as should_error from ( select event_id as unique_field, count(*) as n_records from `tally_analytics`.`events` where event_id is not null group by event_id having count(*) > 1 ) dbt_internal_test FORMAT Native;

select '' as table_database, columns.database as table_schema, columns.table as table_name, if(tables.engine not in ('MaterializedView', 'View'), 'table', 'view') as table_type, nullIf(tables.comment, '') as table_comment, columns.name as column_name, columns.position as column_index, columns.type as column_type, nullIf(columns.comment, '') as column_comment, cast(null as Nullable(String)) as table_owner from system.columns as columns join system.tables as tables on tables.database = columns.database and tables.name = columns.table where columns.database != 'system' and ( ( columns.database = 'tally_analytics' and columns.table = 'events' ) or ( columns.database = 'tally_analytics' and columns.table = 'v' )) order by columns.database, columns.table, columns.position FORMAT Native;

with __dbt__cte__e as ( select account_id, sum(quantity) as q from `tally_analytics`.`events` group by account_id ) select * from `__dbt__cte__e` limit 2 FORMAT Native;
