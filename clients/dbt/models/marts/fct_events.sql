-- The usage events as they count now, loaded by their changes. A change is read again for an hour, because it can
-- appear some time after its changed_at; the rows replace each other by event_id.
{{ config(
    materialized=var('materialized', 'ephemeral' if target.name == 'port' else 'incremental'),
    unique_key='event_id',
    incremental_strategy='delete+insert',
    post_hook=[] if target.name == 'port' else "delete from {{ this }} where is_void"
) }}
select
    event_id,
    changed_at,
    is_void,
    account_id,
    metric_id,
    currency,
    quantity,
    occurred_at,
    properties,
    accepted_at,
    corrected_at
from {{ ref('stg_event_changes') }}
{% if is_incremental() %}
where changed_at >= (
    select coalesce(max(changed_at), cast('1970-01-02 00:00:00' as timestamp)) - interval 1 hour from {{ this }}
)
{% else %}
where not is_void
{% endif %}
