"""The client's side of the consumer protocol: one class, `member.ConsumerMember`, composed of typed parts (`parts`).

States and transitions are those of Kafka's ``MemberState`` (`states`); what each answer does is in `responses`, the way
from a target to owned partitions in `reconciliation`, every way out of the group in `departure`.
"""
