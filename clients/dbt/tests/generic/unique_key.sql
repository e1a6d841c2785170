{# Keys that more than one row has. Some columns of a key may be NULL. #}
{% test unique_key(model, columns, time_column=none) %}
select {{ columns | join(', ') }}
from {{ model }}
where true {{ recent(time_column) }}
group by {{ columns | join(', ') }}
having count(*) > 1
{% endtest %}
