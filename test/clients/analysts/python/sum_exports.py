"""Merges exports of event_changes in each library, and prints the sums by account and source, with all 18 places."""

import sys
from decimal import Decimal

import duckdb
import polars as pl
import pyarrow.compute as pc
import pyarrow.dataset as ds

folders = sys.argv[1:]
files = [f"{folder}/*.parquet" for folder in folders]


def show(library, rows):
    for account, source, total in sorted(rows):
        print(library, account, source, f"{Decimal(total):.18f}")


changes = ds.dataset([ds.dataset(folder, format="parquet", exclude_invalid_files=True) for folder in folders]).to_table()
latest = changes.group_by("event_id").aggregate([("changed_at", "max")])
keys = ["event_id", "changed_at"]
table = changes.join(latest, keys=keys, right_keys=["event_id", "changed_at_max"], join_type="inner")
table = table.filter(pc.invert(table["is_void"]))
table = table.append_column("source", pc.coalesce(table["metric_id"], table["currency"]))
sums = table.group_by(["account_id", "source"]).aggregate([("quantity", "sum")]).to_pylist()
show("pyarrow", [(row["account_id"], row["source"], row["quantity_sum"]) for row in sums])

frame = (
    pl.concat([pl.read_parquet(name) for name in files])
    .sort("changed_at")
    .unique("event_id", keep="last", maintain_order=True)
    .filter(~pl.col("is_void"))
    .group_by("account_id", pl.coalesce("metric_id", "currency").alias("source"))
    .agg(pl.col("quantity").sum())
)
show("polars", frame.select("account_id", "source", "quantity").rows())

show(
    "duckdb",
    duckdb.sql(
        """
        SELECT account_id, coalesce(metric_id, currency) AS source, sum(quantity) FROM (
            SELECT * FROM read_parquet($files)
            QUALIFY row_number() OVER (PARTITION BY event_id ORDER BY changed_at DESC) = 1 AND NOT is_void
        ) GROUP BY ALL
        """,
        params={"files": files},
    ).fetchall(),
)
