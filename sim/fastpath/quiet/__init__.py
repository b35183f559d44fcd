"""One quiet member: trains of heartbeats and commits in closed form, and what is on its way when somebody looks.

`steady_state` has it at any instant, `steady_columns` works out the same for many; `bounds` says who may be quiet.
"""
