"""Members that nobody looks at: what they do is computed, many at a time, when somebody does look.

Whoever looks at a member or disturbs it calls `engine` (`sim.cluster.interface.FastPath`) or, from its own client,
`quiescence` (`sim.client.interface.Elision`). Between rebalances a member is quiet: its requests are regular, and
`quiet` works out what they have left in the books. In a rebalance members go through `phases` together, which
`itineraries` has for one protocol; a member that meets something the phase does not carry takes its steps as events.
Tables are the same as with ``fidelity: message``, where nobody is ever quiet.
"""
