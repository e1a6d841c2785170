"""Connects as the manuals of clickhouse-connect and of its SQLAlchemy dialect say, and reads the schema as Superset does."""

import sys
from urllib.parse import quote

import clickhouse_connect
from clickhouse_connect.driver.exceptions import DatabaseError
from sqlalchemy import MetaData, Table, create_engine, inspect, text

host, port, user, password, account = sys.argv[1:]


def tell(name, value):
    print(f"{name}\t{value}")


for compress in (True, False, "lz4", "zstd", "gzip"):
    client = clickhouse_connect.get_client(
        host=host, port=int(port), username=user, password=password, database="default", compress=compress
    )
    tell(f"sum {compress}", client.query("SELECT sum(quantity) FROM events").result_rows[0][0])

client = clickhouse_connect.get_client(host=host, port=int(port), username=user, password=password)
bound = client.query("SELECT count() FROM events WHERE account_id = {account:String}", parameters={"account": account})
tell("parameter", bound.result_rows[0][0])
with client.query_row_block_stream("SELECT event_id FROM events", settings={"max_block_size": 1000}) as stream:
    tell("rows", sum(len(block) for block in stream))
tell("command", client.command("SHOW TABLES").replace("\n", " "))
try:
    client.query("SELECT nothing")
except DatabaseError as error:
    tell("error", error.code)

engine = create_engine(f"clickhousedb://{user}:{quote(password)}@{host}:{port}")
schema = inspect(engine)
[database] = schema.get_schema_names()
tell("views", " ".join(schema.get_view_names(schema=database)))
tell("columns", " ".join(column["name"] for column in schema.get_columns("events", schema=database)))
tell("reflected", len(Table("events", MetaData(schema=database), autoload_with=engine).columns))
with engine.connect() as connection:
    tell("selected", connection.execute(text("SELECT sum(quantity) FROM events")).scalar())
