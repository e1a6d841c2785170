-- phase: expand
-- oldest: 0.1.0
-- What analysts may read: views only, in a database of their own.
CREATE DATABASE IF NOT EXISTS {analytics}
