select
    u.day as day,
    u.account_id as account_id,
    a.account_name as account_name,
    a.customer_id as customer_id,
    a.customer_name as customer_name,
    u.metric_id as metric_id,
    m.metric_name as metric_name,
    m.unit as unit,
    u.currency as currency,
    u.quantity as quantity,
    u.events as events
from {{ ref('stg_daily_usage') }} as u
left join {{ ref('stg_accounts') }} as a on a.account_id = u.account_id
left join {{ ref('stg_metrics') }} as m on m.metric_id = u.metric_id
