-- As in usage_by_day.
ALTER TABLE usage_by_slot MODIFY SETTING min_bytes_for_wide_part = 1000000000, min_age_to_force_merge_seconds = 3600, min_age_to_force_merge_on_partition_only = 1
