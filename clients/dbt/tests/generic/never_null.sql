{# Rows with NULL in a column that is promised to have none. One query for all columns of a view. #}
{% test never_null(model, columns, not_exported=[], time_column=none) %}
{%- set checked = columns if target.type == 'duckdb' else columns + not_exported %}
select * from {{ model }}
where ({% for column in checked %}{{ column }} is null{% if not loop.last %} or {% endif %}{% endfor %})
{{ recent(time_column) }}
{% endtest %}
