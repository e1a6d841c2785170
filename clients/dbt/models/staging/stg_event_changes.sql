-- Every event once, as it was last. Exports of several runs have an event each time it changed.
{% if target.type == 'duckdb' %}
select * from {{ source('tally', 'event_changes') }}
qualify row_number() over (partition by event_id order by changed_at desc) = 1
{% else %}
select * from {{ source('tally', 'event_changes') }}
{% endif %}
