"""Result tables in; numbers, tables and figures out. Never runs a simulation.

Every function takes what a run produced, in whichever form it is at hand: a result object (``.tables``, ``.manifest``),
a mapping of table names to DataFrames, or the folder of a result. Names, dtypes and units are those of ``sim.tables``.
"""
