select
    a.account_id as account_id,
    a.name as account_name,
    a.external_id as account_external_id,
    a.customer_id as customer_id,
    c.name as customer_name,
    a.created_at as created_at,
    a.updated_at as updated_at,
    a.archived_at as archived_at
from {{ source('tally', 'accounts') }} as a
left join {{ source('tally', 'customers') }} as c on c.customer_id = a.customer_id
