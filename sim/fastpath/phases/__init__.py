"""What members of one group go through together in a rebalance, as columns by slot.

`deferred` keeps who is behind, `columns` what each did, `phase` is one stretch of it; `catch_up` brings a member's own
objects up to date when somebody looks at it. The stretches themselves are in `sim.fastpath.itineraries`.
"""
