"""The life of real brokers: KRaft, loopback, fresh ports, everything in one folder that goes with them.

The first node is the controller, too. Every partition has one replica: brokers are there to be talked to, not to fail.
"""

from __future__ import annotations

import asyncio
import socket
import time
from collections.abc import Mapping, Sequence
from pathlib import Path

from tests.oracle.broker_log import GroupLog, parse
from tests.oracle.failures import WentWrong
from tests.oracle.jvm import Jvm

START_S = 90.0
_CLUSTER_ID = "MkU3OEVBNTcwNTJENDM2Qg"  # any 22 characters of base64 will do
_HEAP = ("-Xms192m", "-Xmx512m", "-XX:+UseSerialGC")
OWN_KEYS = frozenset(
    {
        "process.roles", "node.id", "controller.quorum.voters", "listeners", "advertised.listeners",
        "listener.security.protocol.map", "inter.broker.listener.name", "controller.listener.names",
        "log.dirs", "log.dir", "offsets.topic.replication.factor", "transaction.state.log.replication.factor",
        "transaction.state.log.min.isr", "auto.create.topics.enable", "broker.id", "min.insync.replicas",
    }
)  # fmt: skip
"""Keys that say where the broker is and how many there are: a scenario cannot have them."""


def free_ports(count: int) -> list[int]:
    """Ports of the loopback interface that nobody listens on now."""
    sockets = [socket.create_server(("127.0.0.1", 0)) for _ in range(count)]
    ports = [one.getsockname()[1] for one in sockets]
    for one in sockets:
        one.close()
    return ports


def properties(config: Mapping[str, str], folder: Path, controller: int, port: int, node: int = 1) -> str:
    """The text of a node's ``server.properties``."""
    leads = node == 1
    own = {
        "process.roles": "broker,controller" if leads else "broker",
        "node.id": str(node),
        "controller.quorum.voters": f"1@127.0.0.1:{controller}",
        "listeners": f"BROKER://127.0.0.1:{port}" + (f",CONTROLLER://127.0.0.1:{controller}" if leads else ""),
        "advertised.listeners": f"BROKER://127.0.0.1:{port}",
        "listener.security.protocol.map": "BROKER:PLAINTEXT,CONTROLLER:PLAINTEXT",
        "inter.broker.listener.name": "BROKER",
        "controller.listener.names": "CONTROLLER",
        "offsets.topic.replication.factor": "1",
        "transaction.state.log.replication.factor": "1",
        "transaction.state.log.min.isr": "1",
        "share.coordinator.state.topic.replication.factor": "1",
        "share.coordinator.state.topic.min.isr": "1",
        "auto.create.topics.enable": "false",
        # Throw-away groups of the consumer protocol would otherwise take a quarter of a minute each.
        "group.consumer.min.heartbeat.interval.ms": "1000",
        # A partition's first index entry, after 4 KB of records, makes two index files: 60 ms without a record.
        "log.index.interval.bytes": "1073741824",
        "log.dirs": str(folder / "data"),
    }
    return "".join(f"{key}={value}\n" for key, value in {**config, **own}.items())


class Brokers:
    """Brokers of one cluster and the log of their group coordinators.

    Parameters
    ----------
    java : tuple of str
        Java and its class path option.
    config : mapping
        Kafka's keys, as text.
    folder : Path
        Its own, for everything they write.
    ports : sequence of int
        Of the controller, and of clients: as many as there are brokers.
    """

    def __init__(self, java: tuple[str, ...], config: Mapping[str, str], folder: Path, ports: Sequence[int]) -> None:
        self._java = java
        self._ports = ports
        self._started: set[Jvm] = set()
        self._complaint = ""
        self.servers = ",".join(f"127.0.0.1:{port}" for port in ports[1:])
        self.groups = GroupLog()
        self.nodes = [self._node(node, config, folder / str(node)) for node in range(1, len(ports))]

    def _node(self, node: int, config: Mapping[str, str], folder: Path) -> Jvm:
        folder.mkdir(parents=True)
        file = folder / "server.properties"
        file.write_text(properties(config, folder, self._ports[0], self._ports[node], node))
        command = [
            *self._java, *_HEAP, f"-Dkafka.logs.dir={folder}", "-Dlog4j2.configurationFile=broker-log4j2.properties",
            "groupsim.oracle.Broker", str(file), _CLUSTER_ID,
        ]  # fmt: skip
        return Jvm(f"broker-{node}", command, folder)

    async def started(self) -> None:
        """Wait until they serve.

        Raises
        ------
        WentWrong
            One ended, or did not come up within its time.
        """
        give_up = time.monotonic() + START_S
        while self._started != {*self.nodes}:
            self.listen()
            for jvm in self.nodes:
                if not jvm.is_alive:
                    raise WentWrong(self._why_not(jvm))
            if time.monotonic() > give_up:
                raise WentWrong(f"the broker has not come up within {START_S:.0f} s")
            await asyncio.sleep(0.05)

    def _why_not(self, jvm: Jvm) -> str:
        if "BindException" in self._complaint or "Address already in use" in self._complaint:
            return f"the broker could not start: one of ports {', '.join(map(str, self._ports))} is taken"
        return f"the broker could not start: {self._complaint[:300] or jvm.last_words()}"

    def check(self) -> None:
        """Raise `WentWrong` if one has ended and nobody wanted that."""
        for jvm in self.nodes:
            jvm.check()

    def listen(self) -> None:
        """Take in what they have logged since the last time; a group has its coordinator on one of them."""
        for jvm in self.nodes:
            self._listen(jvm)

    def _listen(self, jvm: Jvm) -> None:
        for text in jvm.text_lines():
            line = parse(text)
            if line is None:
                if not self._complaint or "BindException" in text or "already in use" in text:
                    self._complaint = text.strip()
            elif line.logger == "KafkaRaftServer" and "Kafka Server started" in line.text:
                self._started.add(jvm)
            elif line.level in ("ERROR", "FATAL") and not self._complaint:
                self._complaint = line.text
            else:
                self.groups.take(line)

    def end(self) -> None:
        """A controlled shutdown, the controller's last, or a kill if that takes too long."""
        for jvm in reversed(self.nodes):
            jvm.end(patience_s=10)
