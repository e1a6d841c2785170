{# The condition that a row is of the last days (var test_days). #}
{% macro recent(time_column) %}
  {%- if time_column -%}
    {%- set since = modules.datetime.datetime.now(modules.pytz.utc) - modules.datetime.timedelta(days=var('test_days')) -%}
    and {{ time_column }} >= '{{ since.strftime('%Y-%m-%d') }}'
  {%- endif -%}
{% endmacro %}
