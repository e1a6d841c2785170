-- What reading an account costs is the number of files it opens. A part keeps its columns in one file, up to a size at which
-- that would read too much; and a month that nothing was written to for an hour becomes one part.
ALTER TABLE usage_by_day MODIFY SETTING min_bytes_for_wide_part = 1000000000, min_age_to_force_merge_seconds = 3600, min_age_to_force_merge_on_partition_only = 1
