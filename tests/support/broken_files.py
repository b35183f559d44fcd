"""Files that nobody should write: the library's, broken by chance in one place or several.

Two ways: the text is damaged (bytes, indentation, aliases, keys given twice), or a value of the document is exchanged
for one that no key takes, a key for one that nobody knows, a subtree for another one.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator
from typing import Any, Final, TypeAlias

import yaml

from groupsim.scenarios.build.loading import LIBRARY
from groupsim.scenarios.sweep.loading import LIBRARY as SWEEPS

Place: TypeAlias = tuple[Any, ...]
_NUMBERS: Final = (0, -1, 1, 2**31, 2**63, 2**64, 10**39, -(2**63), 0.5, -0.1, 1e-300, 1e300, 1.5, 99999)
_DURATIONS: Final = (
    "0s", "-1s", "1us", "0.1us", "1e3s", "99999999999999d", "1 s", "1S", "1m", "s", "1s1s", "٣s", "1\u00a0s",
    "∞s", "5min ",
    "0.0000001s", "36500d", "36501d", "1h30min", "+1s",
)  # fmt: skip
_TEXTS: Final = (
    "", " ", "x" * 300, "a\0b", "a\x1b[31mb", "\u202ecod", "оrders", "ｂｉｌｌｉｎｇ", "é", "😀", "..", ".",
    "../../etc/passwd", "a/b", "~",
    "billing/99", "billing/-1", "billing/3-1", "billing/random:0", "billing/random:99999999999999999999",
    "billing/share:2",
    "billing/share:nan", "billing/leader:2", "rack:nowhere", "broker:99", "broker:x", "rack:", "billing/", "/",
    "0-999999999999",
    "1,1", "1-", "%", "101%", "-5%", "nan%", "< x", "< ", "<= 5", "> nan", "< 1e999", "null", "true", "[", "{",
    "*x", "&x",
    "(a+)+$", "(", "[[:x:]]", "\\", "a{99999}", "(?P<n>a)", "\\1", "x\ny",
)  # fmt: skip
_LAWS: Final = (
    {"lognormal": {}}, {"lognormal": {"median": "1s", "p99": "0.5s"}}, {"lognormal": {"median": "0s", "p99": "0s"}},
    {"lognormal": {"median": "1s", "p95": "2s", "p99": "3s"}}, {"uniform": ["2s", "1s"]}, {"uniform": ["1s"]},
    {"uniform": "1s"},
    {"exponential": {"mean": "-1s"}}, {"exponential": {"mean": "0s"}}, {"exponential": 3}, {"empirical": []},
    {"empirical": ["x"]},
    {"normal": {"mean": "1s"}}, {"constant": "1s", "uniform": ["1s", "2s"]}, {"lognormal": {"median": "1us",
    "p99": "36500d"}},
)  # fmt: skip
_RATES: Final = (
    {"csv": "rates.csv"}, {"csv": "wrong.csv"}, {"csv": "latin.csv"}, {"csv": "nul.csv"}, {"csv": "absent.csv"},
    {"csv": "."}, {"csv": ""},
    {"csv": "/dev/zero"}, {"total": -1}, {"total": 10**30}, {"per_partition": [1, 2]}, {"total": 1,
    "per_partition": 1}, {"total": "x"},
    {"steps": {}}, {"zipf": {"total": 1, "s": -1}}, {"csv": "unsorted.csv"}, {"csv": "wide.csv"},
    {"csv": "empty.csv"},
)  # fmt: skip
_CONFIGS: Final = (
    {"file": "wrong.properties"}, {"file": "nul.properties"}, {"file": "absent.properties"}, {"file": "."},
    {"file": ["a"]},
    {"session.timeout.ms": -1}, {"session.timeout.ms": 2**40}, {"session.timeout.ms": "45 s"},
    {"session.timeout.ms": True},
    {"heartbeat.interval.ms": 10**9}, {"partition.assignment.strategy": []},
    {"partition.assignment.strategy": ["rang"]},
    {"partition.assignment.strategy": {"a": 1}}, {"partition.assignment.strategy": ["range", "range"]},
    {"group.protocol": "zk"},
    {"sesion.timeout.ms": 1}, {"max.poll.records": 0}, {"group.id": "x"}, {"": 1}, {"isolation.level": "none"},
)  # fmt: skip
_TREES: Final = ([], {}, [[]], {"": None}, None, [None], ["orders", "orders"], [1, "a", {}], {"pattern": "("},
    {"re2": "("}, {"re2": ""},
                 {"pattern": "(a|aa)+\\1b"}, {"assign": {"orders": "0-3"}}, {"assign": {"nobody": "0"}},
                 {"re2": "a", "pattern": "b"})  # fmt: skip
_VERBS: Final = (
    "gc_pause", "stuck", "slow", "slow_host", "kill", "close", "start", "restart", "rolling_restart", "scale",
    "cut", "add_partitions",
    "create_topic", "delete_topic", "subscribe", "unsubscribe", "set_rate", "set_config", "explode",
)  # fmt: skip
_KEYS: Final = (
    "",
    "x",
    "Version",
    "groups",
    "timeline",
    "0",
    "a.b",
    "a[b]",
    "a\x1bb",
    "k" * 5000,
    "memebrs",
    "верsion",
    "<<",
    "target",
)
BESIDE: Final[dict[str, bytes]] = {
    "rates.csv": b"time_s,rate\n0,1\n60,nan\n",
    "wrong.csv": b"when,how\n1,2,3\n",
    "latin.csv": "time_s,rate\n0,1 \xfc\n".encode("latin-1"),
    "nul.csv": b"time_s,rate\n\0,1\n",
    "unsorted.csv": b"time_s,rate\n5,1\n0,1e400\n-3,\n",
    "wide.csv": b"time_s," + b",".join(b"%d" % n for n in range(5000)) + b"\n0" + b",1" * 5000 + b"\n",
    "empty.csv": b"",
    "wrong.properties": b"session.timeout.ms\\\n=\\u00zz\nunknown.key=1\nsession.timeout.ms=9e9\n=\n",
    "nul.properties": b"session.timeout.ms=\0\xff\n",
}
"""Files that broken ones name."""


def broken_file(seed: int) -> tuple[bytes, bool]:
    """(a broken file, whether it is made of a sweep): the same for the same seed."""
    chance = random.Random(f"broken-{seed}")
    is_sweep = chance.random() < 0.3
    text = chance.choice(sorted((SWEEPS if is_sweep else LIBRARY).glob("*.yaml"))).read_text(encoding="utf-8")
    if chance.random() < 0.35:
        return chance.choice(_DAMAGES)(text, chance), is_sweep
    document = yaml.safe_load(text)
    for _ in range(chance.choice([1, 1, 2, 5])):
        chance.choice(_CHANGES)(document, chance)
    return yaml.safe_dump(document, sort_keys=False, allow_unicode=True).encode("utf-8", "surrogatepass"), is_sweep


# --- the document -----------------------------------------------------------------------------------------------------


def _places(tree: Any, above: Place = ()) -> Iterator[Place]:
    steps = tree.items() if isinstance(tree, dict) else enumerate(tree) if isinstance(tree, list) else ()
    for step, below in steps:
        yield (*above, step)
        yield from _places(below, (*above, step))


def _somewhere(document: Any, chance: random.Random) -> tuple[Any, Any]:
    """A mapping or list of the document, and a key of it; None for both where nothing is left."""
    found = list(_places(document))
    if not found:
        return None, None
    place = chance.choice(found)
    for step in place[:-1]:
        document = document[step]
    return document, place[-1]


def _exchange(document: Any, chance: random.Random) -> None:
    holder, key = _somewhere(document, chance)
    kinds = (_NUMBERS, _DURATIONS, _TEXTS, _LAWS, _RATES, _CONFIGS, _TREES, (float("nan"), float("inf"), True, False))
    if holder is not None:
        holder[key] = chance.choice(chance.choice(kinds))


def _fitting(document: Any, chance: random.Random) -> None:
    """Exchange a value for one of its own kind."""
    holder, key = _somewhere(document, chance)
    if holder is None:
        return
    value = holder[key]
    if isinstance(value, str):
        holder[key] = chance.choice(_DURATIONS if value[:1].isdigit() else _TEXTS)
    elif isinstance(value, int | float):
        holder[key] = chance.choice(_NUMBERS)
    elif isinstance(value, dict):
        holder[key] = chance.choice((*_LAWS, *_RATES, *_CONFIGS, *_TREES))
    elif isinstance(value, list):
        holder[key] = [*value, *value]


def _rename(document: Any, chance: random.Random) -> None:
    holder, key = _somewhere(document, chance)
    if isinstance(holder, dict):
        holder[chance.choice((*_KEYS, *_VERBS, str(key) + "s", str(key).upper()))] = holder.pop(key)


def _remove(document: Any, chance: random.Random) -> None:
    holder, key = _somewhere(document, chance)
    if holder is not None:
        del holder[key]


def _add(document: Any, chance: random.Random) -> None:
    holder, _ = _somewhere(document, chance)
    if isinstance(holder, dict):
        holder[chance.choice(_KEYS)] = chance.choice((*_TREES, *_NUMBERS, *_TEXTS))
    elif holder is not None:
        holder.append(chance.choice((*_TREES, *_TEXTS)))


def _graft(document: Any, chance: random.Random) -> None:
    """Put a part of the document where another one is."""
    holder, key = _somewhere(document, chance)
    other, name = _somewhere(document, chance)
    if holder is not None:
        holder[key] = yaml.safe_load(yaml.safe_dump(other[name]))


def _entry(document: Any, chance: random.Random) -> None:
    """An entry of the timeline that says anything."""
    timeline = document.get("timeline") if isinstance(document, dict) else None
    if isinstance(document, dict) and not isinstance(timeline, list):
        timeline = document["timeline"] = []
    if isinstance(timeline, list):
        body = {
            "target": chance.choice(("billing", *_TEXTS)),
            chance.choice(("for", "to", "down", "topic", "rate", "config", "between", "factor")): chance.choice(
                (*_NUMBERS, *_DURATIONS, *_LAWS, *_RATES, *_CONFIGS, ["billing", "broker:9"])
            ),
        }
        timeline.append(
            {chance.choice(("at", "every", "until")): chance.choice((*_DURATIONS, *_LAWS)), chance.choice(_VERBS): body}
        )


_CHANGES: Final[tuple[Callable[[Any, random.Random], None], ...]] = (
    _exchange, _exchange, _fitting, _fitting, _rename, _remove, _add, _graft, _entry,
)  # fmt: skip


# --- the text ---------------------------------------------------------------------------------------------------------


def _flip(text: str, chance: random.Random) -> bytes:
    raw = bytearray(text.encode())
    for _ in range(chance.choice([1, 3, 30])):
        raw[chance.randrange(len(raw))] = chance.randrange(256)
    return bytes(raw)


def _cut(text: str, chance: random.Random) -> bytes:
    first, second = sorted((chance.randrange(len(text)), chance.randrange(len(text))))
    return (text[:first] + text[second:]).encode()


def _scatter(text: str, chance: random.Random) -> bytes:
    """Put what YAML or a terminal obeys somewhere."""
    pieces = ("\0", "\t", "\x1b]0;x\a", "\x85", "\u2028", "\ufeff", "&a ", "*a ", "<<: *a\n", "!!python/name:os ",
    "---\n", "? ", "| ", "{", "]",
              "'", '"', "%YAML 9.9\n", "\r", ": ", "- ", "1:30", "1e3", "0x10", "0o7", ".nan", "-.inf", "~",
              "yes", "2020-01-01", "#", "\ud800")  # fmt: skip
    for _ in range(chance.choice([1, 2, 4])):
        at = chance.randrange(len(text))
        text = text[:at] + chance.choice(pieces) + text[at:]
    return text.encode("utf-8", "surrogatepass")


def _bomb(text: str, chance: random.Random) -> bytes:
    depth, width = chance.choice([(30, 2), (9, 10), (4, 40)])
    lines = ["x0: &x0 [a, a]"] + [f"x{n + 1}: &x{n + 1} [{', '.join([f'*x{n}'] * width)}]" for n in range(depth)]
    return (text + "\n".join(lines) + "\n").encode()


def _anchors(text: str, chance: random.Random) -> bytes:
    return text.encode() + chance.choice(
        [b"a: &a {b: *a}\n", b"a: &a [*a]\n", b"a: &a {<<: *a}\n", b"<<: 3\n", b"a: *b\n", b"<<: [1]\n"]
    )


def _deep(text: str, chance: random.Random) -> bytes:
    size = chance.choice([40, 60, 3000])
    opened, closed = chance.choice([("[", "]"), ("{a: ", "}"), ("- ", "")])
    return (text + "\ndeep: " + ("\n  " if opened == "- " else "") + opened * size + closed * size + "\n").encode()


def _long(text: str, chance: random.Random) -> bytes:
    size = chance.choice([5_000, 200_000])
    more = chance.choice(["k" * size + ": 1", "k: " + "9" * size, "k: '" + "x" * size + "'",
    "\n".join(f"k{n}: 1" for n in range(size // 9)),
                          "timeline: [" + "{at: 1s, kill: {target: billing/0}}, " * (size // 40) + "]"])  # fmt: skip
    return f"{text}\n{more}\n".encode()


def _twice(text: str, chance: random.Random) -> bytes:
    lines = text.splitlines(keepends=True)
    line = chance.choice(lines)
    lines.insert(chance.randrange(len(lines)), line)
    return "".join(lines).encode()


def _indent(text: str, chance: random.Random) -> bytes:
    lines = text.splitlines(keepends=True)
    at = chance.randrange(len(lines))
    lines[at] = chance.choice([" " + lines[at], lines[at].lstrip(), "\t" + lines[at]])
    return "".join(lines).encode()


def _encoded(text: str, chance: random.Random) -> bytes:
    return text.encode(chance.choice(["utf-16", "utf-32", "utf-8-sig", "utf-16-le"]))


def _nothing(text: str, chance: random.Random) -> bytes:
    return chance.choice(
        [b"", b"# nothing\n", b"null\n", b"[]\n", b"{}\n", b"3\n", b"a\n", b"---\n---\n", b"- {}\n", b"version: 1\n"]
    )


_DAMAGES: Final[tuple[Callable[[str, random.Random], bytes], ...]] = (
    _flip, _cut, _scatter, _scatter, _bomb, _anchors, _deep, _long, _twice, _indent, _encoded, _nothing,
)  # fmt: skip
