"""Where Spark is looked for."""

from __future__ import annotations

import socket

import pytest

from groupsim.scenarios.spark.session import Unreachable, Where, reach, where_of
from groupsim.sim.errors import ConfigError


@pytest.mark.parametrize(
    ("url", "addresses"),
    [
        ("local[*]", []),
        ("yarn", []),
        ("k8s://https://10.0.0.1:6443", []),
        ("spark://a:7078", [("a", 7078)]),
        ("spark://a:7078,b:7079", [("a", 7078), ("b", 7079)]),
        ("spark://a", [("a", 7077)]),
        ("spark://[::1]:7077", [("::1", 7077)]),
        ("sc://server", [("server", 15002)]),
        ("sc://server:443/;use_ssl=true;token=x:y", [("server", 443)]),
    ],
)
def test_addresses_of_a_url(url: str, addresses: list[tuple[str, int]]) -> None:
    assert Where(url).addresses() == addresses


def test_where_nobody_listens_is_told() -> None:
    with socket.socket() as closed:
        closed.bind(("127.0.0.1", 0))
        url = f"sc://127.0.0.1:{closed.getsockname()[1]}"
        with pytest.raises(Unreachable, match=r"127\.0\.0\.1:\d+: Connection refused"):
            reach(Where(url))


@pytest.mark.parametrize("master", ["nonsense", "host:7077", "http://host:7077", "sc://host"])
def test_a_master_that_is_none_of_sparks_is_refused_before_spark_starts(master: str) -> None:
    with pytest.raises(ConfigError, match=r"master .*: must be local\[N\], spark://HOST:PORT, yarn or k8s://URL"):
        where_of(master, "", {})
