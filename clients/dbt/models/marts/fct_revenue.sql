-- Lines of invoice previews by day. The sum over a period is its invoice. Amounts of different currencies do not add up.
{{ config(enabled='rated_usage' in views()) }}
select
    r.day as day,
    r.contract_id as contract_id,
    r.period_starts_at as period_starts_at,
    r.period_ends_at as period_ends_at,
    r.account_id as account_id,
    a.account_name as account_name,
    r.customer_id as customer_id,
    r.kind as kind,
    r.product_id as product_id,
    p.name as product_name,
    r.metric_id as metric_id,
    r.usage_currency as usage_currency,
    r.value as value,
    r.currency as currency,
    r.quantity as quantity,
    r.exact_amount as exact_amount,
    r.amount as amount,
    r.is_unrated as is_unrated,
    r.is_final as is_final,
    r.rated_at as rated_at
from {{ source('tally', 'rated_usage') }} as r
left join {{ ref('stg_accounts') }} as a on a.account_id = r.account_id
left join {{ source('tally', 'products') }} as p on p.product_id = r.product_id
