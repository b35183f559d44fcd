"""What the group coordinator writes after an assignment, and keeps until the next one."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from groupsim.assignors.core.assignment import Assignment
from groupsim.assignors.core.topics import sealed
from groupsim.assignors.java.packed_order import spans
from groupsim.assignors.server.group_spec import GroupSpec


def needs_record(spec: GroupSpec, assignment: Assignment) -> npt.NDArray[np.bool_]:
    """Which members have other partitions in their target than before.

    The coordinator writes a record for each of them, and for members that have none yet.

    Parameters
    ----------
    spec : GroupSpec
    assignment : Assignment
        What a server-side assignor made of it; no partition has two owners.

    Returns
    -------
    ndarray of bool, shape (n_members,)

    Source: TargetAssignmentBuilder.build, Kafka 4.4.
    """
    members, positions = assignment.pairs()
    holder = np.full(spec.topics.n_partitions, -1, dtype=np.int32)
    holder[positions] = members
    other = holder != spec.holder
    # one place more, for nobody
    changed = np.append(spec.gone > 0, np.False_)
    changed[holder[other]] = True
    changed[spec.holder[other]] = True
    flags: npt.NDArray[np.bool_] = changed[:-1]
    return flags


def written_targets(spec: GroupSpec, assignment: Assignment) -> Assignment:
    """Targets as the next assignment finds them: where no record is written, the old one lives on with its order.

    Parameters are those of `needs_record`.
    """
    changed, old = needs_record(spec, assignment), spec.target
    counts = assignment.counts
    starts = np.where(changed, assignment.starts, len(assignment.flat) + old.starts)
    flat = np.concatenate([assignment.flat, old.flat])[spans(starts, counts)]
    ends = np.cumsum(counts)
    return Assignment(spec.topics, sealed(flat), ends - counts, ends)
