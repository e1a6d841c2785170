"""Reads an exported folder as docs/guides/export.md says, and prints what each library makes of it."""

import sys
from decimal import Decimal

import clickhouse_connect
import duckdb
import polars as pl
import pyarrow.compute as pc
import pyarrow.dataset as ds

folder, host, port, user, password = sys.argv[1:]
files = f"{folder}/*.parquet"


def places(number):
    return f"{Decimal(number):.18f}"


table = ds.dataset(folder, format="parquet", exclude_invalid_files=True).to_table()
print("pyarrow", table.num_rows, places(pc.sum(table["quantity"]).as_py()))
print("pyarrow", *(table.schema.field(name).type for name in ("quantity", "changed_at", "occurred_at", "is_void", "properties")))
frame = pl.read_parquet(files)
print("polars", frame.height, places(frame["quantity"].sum()))
[(rows, total)] = duckdb.sql("SELECT count(*), sum(quantity) FROM read_parquet($files)", params={"files": files}).fetchall()
print("duckdb", rows, places(total))

client = clickhouse_connect.get_client(host=host, port=int(port), username=user, password=password)
arrow = client.query_arrow("SELECT account_id, quantity_38 FROM events ORDER BY event_id LIMIT 100")
print("from_arrow", places(pl.from_arrow(arrow)["quantity_38"].sum()))
