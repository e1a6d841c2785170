{# Rows with NULL in a column that is promised to have none. One query for all columns of a view. #}
{% test never_null(model, columns, time_column=none) %}
select * from {{ model }}
where ({% for column in columns %}{{ column }} is null{% if not loop.last %} or {% endif %}{% endfor %})
{{ recent(time_column) }}
{% endtest %}
