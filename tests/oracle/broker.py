"""The life of real brokers: KRaft, loopback, fresh ports, everything in one folder that goes with them.

They are called as the scenario calls them. Where none of them is to fail the first one is the controller, too, and
every partition has one replica. Where they are to fail all of them are controllers and voters, as the first three are
in the simulator, so that the end of an active controller can be had; and every partition has a replica on each.
"""

from __future__ import annotations

import asyncio
import socket
import time
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from tests.oracle.broker_log import GroupLog, parse
from tests.oracle.cluster_log import ClusterLog
from tests.oracle.failures import WentWrong
from tests.oracle.jvm import Jvm

START_S = 90.0
CLUSTER_ID = "MkU3OEVBNTcwNTJENDM2Qg"  # any 22 characters of base64 will do
OPTIONS = ("-Xms192m", "-Xmx512m", "-XX:+UseSerialGC", "-Dlog4j2.configurationFile=broker-log4j2.properties")
"""Java's, of a broker."""
_REPLICAS_MAX = 3
OWN_KEYS = frozenset(
    {
        "process.roles", "node.id", "controller.quorum.voters", "listeners", "advertised.listeners",
        "listener.security.protocol.map", "inter.broker.listener.name", "controller.listener.names",
        "log.dirs", "log.dir", "offsets.topic.replication.factor", "transaction.state.log.replication.factor",
        "transaction.state.log.min.isr", "auto.create.topics.enable", "broker.id", "default.replication.factor",
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


@dataclass(frozen=True)
class Layout:
    """Ports of a cluster; the first nodes are controllers, as many as there are ports for them.

    Parameters
    ----------
    controllers, clients : tuple of int
    """

    controllers: tuple[int, ...]
    clients: tuple[int, ...]

    @property
    def replicas(self) -> int:
        """Replicas of each partition: one where one node decides, so that no other can be missed."""
        return min(_REPLICAS_MAX, len(self.clients)) if len(self.controllers) > 1 else 1

    @property
    def voters(self) -> str:
        """``controller.quorum.voters``."""
        return ",".join(f"{node}@127.0.0.1:{port}" for node, port in enumerate(self.controllers))

    @property
    def servers(self) -> str:
        """``bootstrap.servers``."""
        return ",".join(f"127.0.0.1:{port}" for port in self.clients)


def layout(count: int, *, fails: bool) -> Layout:
    """Free ports for so many nodes, some of which are to fail or not."""
    controllers = count if fails else 1
    ports = free_ports(controllers + count)
    return Layout(tuple(ports[:controllers]), tuple(ports[controllers:]))


def properties(config: Mapping[str, str], folder: Path, ports: Layout, node: int) -> str:
    """The text of a node's ``server.properties``."""
    leads, client = node < len(ports.controllers), ports.clients[node]
    replicas = str(ports.replicas)
    own = {
        "process.roles": "broker,controller" if leads else "broker",
        "node.id": str(node),
        "controller.quorum.voters": ports.voters,
        "listeners": f"BROKER://127.0.0.1:{client}"
        + (f",CONTROLLER://127.0.0.1:{ports.controllers[node]}" if leads else ""),
        "advertised.listeners": f"BROKER://127.0.0.1:{client}",
        "listener.security.protocol.map": "BROKER:PLAINTEXT,CONTROLLER:PLAINTEXT",
        "inter.broker.listener.name": "BROKER",
        "controller.listener.names": "CONTROLLER",
        "default.replication.factor": replicas,
        "offsets.topic.replication.factor": replicas,
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
    ports : Layout
    options : tuple of str
        Java's, of each broker.

    Attributes
    ----------
    nodes : dict of int to Jvm
        The last life of each.
    """

    def __init__(
        self, java: tuple[str, ...], config: Mapping[str, str], folder: Path, ports: Layout,
        options: tuple[str, ...] = OPTIONS,
    ) -> None:  # fmt: skip
        self._java = (*java, *options)
        self._config = config
        self._folder = folder
        self._ports = ports
        self._started: set[Jvm] = set()
        self._ended: list[tuple[int, Jvm]] = []
        self._complaint = ""
        self.servers = ports.servers
        self.groups = GroupLog()
        self.cluster = ClusterLog()
        self.nodes = {node: self._life(node, 0) for node in range(len(ports.clients))}

    def _life(self, node: int, number: int) -> Jvm:
        folder = self._folder / str(node)
        folder.mkdir(parents=True, exist_ok=True)
        file = folder / "server.properties"
        file.write_text(properties(self._config, folder, self._ports, node))
        command = [
            *self._java, f"-Dkafka.logs.dir={folder}", "groupsim.oracle.Broker", str(file), CLUSTER_ID,
        ]  # fmt: skip
        return Jvm(f"broker-{node}" + (f"-{number}" if number else ""), command, folder)

    # --- lives --------------------------------------------------------------------------------------------------------

    def kill(self, node: int) -> None:
        """SIGKILL."""
        self.nodes[node].kill()

    def close(self, node: int) -> None:
        """SIGTERM: a controlled shutdown begins."""
        self.nodes[node].terminate()

    def is_up(self, node: int) -> bool:
        """Whether its process runs, served or not."""
        return self.nodes[node].is_alive

    def start(self, node: int) -> None:
        """Another life, with the logs of the one before."""
        self._listen(node, self.nodes[node])
        self._ended.append((node, self.nodes[node]))
        self.nodes[node] = self._life(node, sum(one == node for one, _ in self._ended))

    async def started(self) -> None:
        """Wait until they serve.

        Raises
        ------
        WentWrong
            One ended, or did not come up within its time.
        """
        give_up = time.monotonic() + START_S
        while not self._started >= {*self.nodes.values()}:
            self.listen()
            for jvm in self.nodes.values():
                if not jvm.is_alive:
                    raise WentWrong(self._why_not(jvm))
            if time.monotonic() > give_up:
                raise WentWrong(f"the broker has not come up within {START_S:.0f} s")
            await asyncio.sleep(0.05)

    def _why_not(self, jvm: Jvm) -> str:
        if "BindException" in self._complaint or "Address already in use" in self._complaint:
            ports = ", ".join(map(str, (*self._ports.controllers, *self._ports.clients)))
            return f"the broker could not start: one of ports {ports} is taken"
        return f"the broker could not start: {self._complaint[:300] or jvm.last_words()}"

    def check(self) -> None:
        """Raise `WentWrong` if one has ended and nobody wanted that."""
        for jvm in self.nodes.values():
            jvm.check()

    def listen(self) -> None:
        """Take in what they have logged since the last time; a group has its coordinator on one of them."""
        for node, jvm in self.nodes.items():
            self._listen(node, jvm)

    def _listen(self, node: int, jvm: Jvm) -> None:
        for text in jvm.text_lines():
            line = parse(text)
            if line is None:
                if not self._complaint or "BindException" in text or "already in use" in text:
                    self._complaint = text.strip()
            elif line.logger == "KafkaRaftServer" and "Kafka Server started" in line.text:
                self._started.add(jvm)
            elif line.level in ("ERROR", "FATAL") and not self._complaint:
                self._complaint = line.text
            elif not self.cluster.take(node, line):
                self.groups.take(line)

    def end(self) -> None:
        """A controlled shutdown, the controller's last, or a kill if that takes too long."""
        for _, jvm in (*self._ended, *sorted(self.nodes.items(), reverse=True)):
            jvm.end(patience_s=10)
