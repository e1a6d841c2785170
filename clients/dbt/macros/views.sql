{# Made by npm run generate of contract/views.yaml and clickhouse/views/freshness.sql. #}
{% macro views() %}
  {% do return([
    'events',
    'event_changes',
    'daily_usage',
    'daily_totals',
    'accounts',
    'customers',
    'metrics',
    'grants',
    'products',
    'prices',
    'rate_cards',
    'rates',
    'contracts',
    'contract_lines',
    'event_revisions',
    'balances',
    'rated_usage',
    'freshness',
  ]) %}
{% endmacro %}
