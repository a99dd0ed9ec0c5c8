import math

import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st

from initscope import tables

AXES = {"seed": 7, "std": 0.1}


def row(**values):
    return {"update": 0, "recorded": True, "training_loss": 1.0, "finite": True, **values}


@given(st.floats() | st.none())
def test_every_float_and_null_comes_back_as_it_was(value):
    (found,) = tables.rows(tables.write("curves", AXES, [row(validation_loss=value)]))
    back = found["validation_loss"]
    assert back is value is None or (math.isnan(back) and math.isnan(value)) or back == value


@pytest.mark.parametrize("name", tables.TABLES)
def test_an_empty_table_has_the_schema(name):
    found = tables.read(tables.write(name, AXES, []))
    assert found.schema.equals(tables.schema(name, AXES))
    assert [str(type) for type in found.schema.types[:2]] == ["int64", "double"]


def test_a_column_that_the_schema_lacks_is_refused():
    with pytest.raises(ValueError, match="no column losss"):
        tables.write("curves", AXES, [row(losss=1.0)])


def test_no_statistics_that_would_hide_nan(tmp_path):
    # Parquet's min/max leave NaN out: readers that push filters down would lose exactly those rows
    path = tmp_path / "t.parquet"
    path.write_bytes(tables.write("curves", AXES, [row(validation_loss=math.nan), row(validation_loss=2.0)]))
    group = pq.ParquetFile(path).metadata.row_group(0)
    assert all(group.column(i).statistics is None for i in range(group.num_columns))


def test_bytes_are_deterministic():
    assert tables.write("curves", AXES, [row()]) == tables.write("curves", AXES, [row()])


def test_every_column_has_a_meaning():
    for columns in tables.TABLES.values():
        assert all(column.meaning for column in columns)
        assert len({column.name for column in columns}) == len(columns)
