select
    metric_id,
    name as metric_name,
    external_id as metric_external_id,
    unit
from {{ source('tally', 'metrics') }}
