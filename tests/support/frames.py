"""Arrow tables as DataFrames."""

from __future__ import annotations

import pandas as pd
import pyarrow as pa

from groupsim.sim.tables import INT


def to_frame(table: pa.Table) -> pd.DataFrame:
    """Text as ``string``, integers as ``int64``, or ``Int64`` where one is missing."""
    frame: pd.DataFrame = table.to_pandas(types_mapper={pa.string(): pd.StringDtype(), pa.int64(): pd.Int64Dtype()}.get)
    return frame.astype({name: INT for name in frame if frame[name].dtype == "Int64" and frame[name].notna().all()})
