-- Tally keeps sums by day. Exports are of events: these have every correction, and a day that was exported may change.
{% if target.type == 'duckdb' %}
select
    cast(occurred_at as date) as day,
    account_id,
    metric_id,
    currency,
    cast(sum(quantity) as decimal(38, 18)) as quantity,
    count(*) as events
from {{ ref('stg_event_changes') }}
where not is_void
group by 1, 2, 3, 4
{% else %}
select day, account_id, metric_id, currency, quantity, events
from {{ source('tally', 'daily_usage') }}
{% endif %}
