"""The life of a real broker: one node, KRaft, loopback, fresh ports, everything in one folder that goes with it."""

from __future__ import annotations

import asyncio
import socket
import time
from collections.abc import Mapping
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


def properties(config: Mapping[str, str], folder: Path, ports: tuple[int, int]) -> str:
    """The text of ``server.properties``."""
    port, controller = ports
    own = {
        "process.roles": "broker,controller",
        "node.id": "1",
        "controller.quorum.voters": f"1@127.0.0.1:{controller}",
        "listeners": f"BROKER://127.0.0.1:{port},CONTROLLER://127.0.0.1:{controller}",
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
        # A partition's first index entry, after 4 KB of records, makes two index files: 60 ms without a record.
        "log.index.interval.bytes": "1073741824",
        "log.dirs": str(folder / "data"),
    }
    return "".join(f"{key}={value}\n" for key, value in {**config, **own}.items())


class Broker:
    """A broker and its group coordinator's log.

    Parameters
    ----------
    java : tuple of str
        Java and its class path option.
    config : mapping
        Kafka's keys, as text.
    folder : Path
        Its own, for everything it writes.
    ports : (int, int)
        Of clients and of the controller.
    """

    def __init__(self, java: tuple[str, ...], config: Mapping[str, str], folder: Path, ports: tuple[int, int]) -> None:
        folder.mkdir(parents=True)
        file = folder / "server.properties"
        file.write_text(properties(config, folder, ports))
        command = [
            *java, *_HEAP, f"-Dkafka.logs.dir={folder}", "-Dlog4j2.configurationFile=broker-log4j2.properties",
            "groupsim.oracle.Broker", str(file), _CLUSTER_ID,
        ]  # fmt: skip
        self._ports = ports
        self._is_started = False
        self._complaint = ""
        self.servers = f"127.0.0.1:{ports[0]}"
        self.groups = GroupLog()
        self.jvm = Jvm("broker", command, folder)

    async def started(self) -> None:
        """Wait until it serves.

        Raises
        ------
        WentWrong
            It ended, or it did not come up within its time.
        """
        give_up = time.monotonic() + START_S
        while not self._is_started:
            self.listen()
            if not self.jvm.is_alive:
                raise WentWrong(self._why_not())
            if time.monotonic() > give_up:
                raise WentWrong(f"the broker has not come up within {START_S:.0f} s")
            await asyncio.sleep(0.05)

    def _why_not(self) -> str:
        if "BindException" in self._complaint or "Address already in use" in self._complaint:
            return f"the broker could not start: port {self._ports[0]} or {self._ports[1]} is taken"
        return f"the broker could not start: {self._complaint[:300] or self.jvm.last_words()}"

    def listen(self) -> None:
        """Take in what it has logged since the last time."""
        for text in self.jvm.text_lines():
            line = parse(text)
            if line is None:
                if not self._complaint or "BindException" in text or "already in use" in text:
                    self._complaint = text.strip()
            elif line.logger == "KafkaRaftServer" and "Kafka Server started" in line.text:
                self._is_started = True
            elif line.level in ("ERROR", "FATAL") and not self._complaint:
                self._complaint = line.text
            else:
                self.groups.take(line)

    def end(self) -> None:
        """A controlled shutdown, or a kill if that takes too long."""
        self.jvm.end(patience_s=10)
