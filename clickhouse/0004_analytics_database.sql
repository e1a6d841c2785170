-- What analysts may read: views only, in a database of their own.
CREATE DATABASE IF NOT EXISTS {analytics}
