"""The digest of a table as Arrow holds it, as files of results are read."""

from __future__ import annotations

import numpy as np
import pyarrow as pa

from groupsim.sim.output.result import Column, Text, digest_columns


def digest_of(table: pa.Table) -> str:
    """The digest of a table: that which ``sim.output.result.digest`` has for the same table as a DataFrame."""
    return digest_columns({name: _column(table[name]) for name in table.column_names})


def _column(values: pa.ChunkedArray) -> Column:
    if values.type == pa.string():
        coded = values.fill_null("\x00").dictionary_encode().combine_chunks()
        return Text(coded.dictionary.to_pylist(), coded.indices.to_numpy())
    if values.type == pa.int64() and values.null_count:
        return np.array(values.to_pylist(), dtype=object)
    numbers: Column = values.to_numpy()
    return numbers
