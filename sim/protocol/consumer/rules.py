"""Which of the coordinator's rules hold, by version: "4.4" back to "4.0".

Each field says from which version on; before it, the rule is the other way round.
"""

from __future__ import annotations

from dataclasses import dataclass

from groupsim.sim.config import CoordinatorConfig


@dataclass(frozen=True, slots=True, kw_only=True)
class Rules:
    """Rules of one version."""

    refreshes_patterns: bool
    """4.1: resolved regular expressions are looked at again every group.consumer.regex.refresh.interval.ms."""
    counts_racks: bool
    """4.1: racks of replicas are among what makes a topic another one."""
    accepts_rejoin: bool
    """4.2: a member that is known may join again with epoch 0, whatever its epoch is."""
    keeps_epoch_on_ack: bool
    """4.2: who has acknowledged a revocation and must revoke more stays at its epoch, instead of the next one."""
    enforces_subscription: bool
    """4.2: partitions of topics that a member no longer subscribes to are taken away though the target is stale, and
    what it is just giving up itself does not count as taken."""
    starts_at_one: bool
    """4.3: epochs of a new group start at 1, and its first member does not bump them by being the first."""
    has_interval: bool
    """4.3 (KIP-1263): group.consumer.assignment.interval.ms."""
    accepts_older_epochs: bool
    """4.3 (KIP-1251): a commit with an older epoch counts for partitions that the member has held since."""
    calls_for_target: bool
    """4.3 (KAFKA-20272): members that use the classic protocol are called to rejoin for a new target, no longer for a
    new group epoch."""
    refuses_classic: bool
    """4.3 (KAFKA-20640): with group.consumer.migration.policy "disabled" nobody joins by the classic protocol."""
    rebalances_stale_downgrade: bool
    """4.3 (KAFKA-20273): a group that a static member downgrades is rebalanced whenever its targets are stale; before,
    if that member subscribes to other topics (KAFKA-19546)."""
    resets_when_empty: bool
    """4.4: with the last member the assignment epoch follows the group epoch, without a timestamp."""
    bumps_on_vote: bool
    """4.4: another winner of the members' votes for an assignor bumps the group epoch."""
    counts_known_instances: bool
    """4.4: a known static instance may come back into a full group under another member id."""

    @classmethod
    def of(cls, config: CoordinatorConfig) -> Rules:
        """Those of ``config.version``."""
        major, minor = (int(part) for part in config.version.split("."))
        version = (major, minor)
        return cls(
            refreshes_patterns=version >= (4, 1),
            counts_racks=version >= (4, 1),
            accepts_rejoin=version >= (4, 2),
            keeps_epoch_on_ack=version >= (4, 2),
            enforces_subscription=version >= (4, 2),
            starts_at_one=version >= (4, 3),
            has_interval=version >= (4, 3),
            accepts_older_epochs=version >= (4, 3),
            calls_for_target=version >= (4, 3),
            refuses_classic=version >= (4, 3),
            rebalances_stale_downgrade=version >= (4, 3),
            resets_when_empty=version >= (4, 4),
            bumps_on_vote=version >= (4, 4),
            counts_known_instances=version >= (4, 4),
        )

    @property
    def first_epoch(self) -> int:
        """Group epoch and assignment epoch of a group of which nothing is known."""
        return 1 if self.starts_at_one else 0
