select * from {{ ref('stg_accounts') }}
