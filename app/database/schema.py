"""The tables of the store, made where they are missing; columns that an earlier version did not have are added.

Two apps may do this at once: who comes second sees that the first was quicker.
"""

from collections.abc import Callable
from functools import partial

from sqlalchemy import Column, Engine, MetaData, Table, inspect
from sqlalchemy.exc import DBAPIError
from sqlalchemy.schema import CreateColumn, CreateTable


def make_tables(engine: Engine, metadata: MetaData) -> None:
    """Creates tables and adds columns. A column that is added must be nullable or have a server default."""
    for table in metadata.sorted_tables:
        if not _exists(engine, table):
            _execute(engine, str(CreateTable(table).compile(engine)), partial(_exists, engine, table))
        for column in _missing(engine, table):
            _execute(engine, _addition(engine, table, column), partial(_has, engine, table, column))


def _exists(engine: Engine, table: Table) -> bool:
    return bool(inspect(engine).has_table(table.name))


def _has(engine: Engine, table: Table, column: Column[object]) -> bool:
    return column not in _missing(engine, table)


def _missing(engine: Engine, table: Table) -> list[Column[object]]:
    present = {column["name"] for column in inspect(engine).get_columns(table.name)}
    return [column for column in table.columns if column.name not in present]


def _addition(engine: Engine, table: Table, column: Column[object]) -> str:
    name = engine.dialect.identifier_preparer.format_table(table)
    return f"ALTER TABLE {name} ADD COLUMN {CreateColumn(column).compile(dialect=engine.dialect)}"


def _execute(engine: Engine, statement: str, done: Callable[[], bool]) -> None:
    try:
        with engine.execution_options(writes=True).begin() as connection:
            connection.exec_driver_sql(statement)
    except DBAPIError:
        if not done():
            raise
