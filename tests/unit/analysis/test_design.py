from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest

from groupsim.analysis.data.design import Design, against, chosen, design_of, load_design
from groupsim.analysis.errors import ResultError

TIMEOUT = "groups.billing.config[session.timeout.ms]"


def design(*variants: str, bundles: tuple[str, ...] = (), kind: str = "grid") -> Design:
    """Variants named ``bundle, t=1`` or ``t=1``, that set a timeout."""
    set_ = {name: {"set": {TIMEOUT: int(name[-1])} if "=" in name else {}} for name in variants}
    return design_of({"design": kind, "variants": dict.fromkeys(bundles), "vary": {TIMEOUT: [1, 2]}}, set_)


CROSSED = ["range, t=1", "range, t=2", "range, old, t=1", "range, old, t=2"]


def test_a_variant_belongs_to_the_longest_bundle_that_its_name_begins_with() -> None:
    found = design(*CROSSED, bundles=("range", "range, old"))
    assert [place.bundle for place in found.places.values()] == ["range", "range", "range, old", "range, old"]
    assert [place.values for place in found.places.values()] == [(1,), (2,), (1,), (2,)]
    assert found.bundles(CROSSED[2:]) == ["range, old"]


def test_bundles_are_compared_with_the_first_at_equal_values() -> None:
    found = design(*CROSSED, bundles=("range", "range, old"))
    assert against(CROSSED, None, found) == [("range, old, t=1", "range, t=1"), ("range, old, t=2", "range, t=2")]
    assert against(CROSSED, "range, old", found) == [
        ("range, t=1", "range, old, t=1"),
        ("range, t=2", "range, old, t=2"),
    ]
    assert against(CROSSED, "range, t=2", found) == [(one, "range, t=2") for one in CROSSED if one != "range, t=2"]


def test_without_bundles_all_are_compared_with_the_first() -> None:
    assert against(["t=1", "t=2", "t=3"], None, design("t=1", "t=2", "t=3")) == [("t=2", "t=1"), ("t=3", "t=1")]
    assert against(["b", "a"], None, None) == [("a", "b")]


def test_bundles_without_values_are_variants() -> None:
    found = design("range", "static", bundles=("range", "static"))
    assert against(["range", "static"], None, found) == [("static", "range")]


def test_bundles_that_never_meet_cannot_be_compared() -> None:
    found = design("a, t=1", "b, t=2", bundles=("a", "b"))
    with pytest.raises(ResultError, match="nothing to compare with 'a': no other variant has the same values"):
        against(["a, t=1", "b, t=2"], None, found)


def test_variants_are_chosen_by_name_or_by_bundle_in_the_order_asked_for() -> None:
    found = design(*CROSSED, bundles=("range", "range, old"))
    assert chosen(CROSSED, ["range, old", "range, t=2"], found) == [*CROSSED[2:], "range, t=2"]
    assert chosen(["x", "y"], ["y"], None) == ["y"]


def test_all_unknown_names_are_told_with_the_nearest() -> None:
    with pytest.raises(ResultError) as refused:
        chosen(["range", "static"], ["rnge", "range", "q"], None)
    assert str(refused.value).splitlines() == [
        "unknown variant 'rnge'; did you mean 'range'?",
        "unknown variant 'q'; variants are: range, static",
    ]


@pytest.mark.parametrize(("kind", "is_sample"), [("grid", False), ("list", False), ("latin_hypercube", True)])
def test_a_design_over_ranges_is_a_sample(kind: str, is_sample: bool) -> None:
    assert design("t=1", kind=kind).is_sample is is_sample


def test_paths_are_called_as_the_caller_wants() -> None:
    named = replace(design("t=1"), names={TIMEOUT: "session.timeout.ms"})
    assert (named.name_of(TIMEOUT), named.name_of("x.batch")) == ("session.timeout.ms", "x.batch")


def test_only_a_sweep_has_a_design(tmp_path: Path) -> None:
    (tmp_path / "manifest.json").write_text(json.dumps({"seed": 1}))
    assert load_design(tmp_path) is None
    with pytest.raises(ResultError, match="nowhere does not exist"):
        load_design(tmp_path / "nowhere")


@pytest.mark.parametrize("manifest", [{"variants": {}}, {"variants": ["a"], "document": {"vary": {}, "variants": {}}}])
def test_a_manifest_that_tells_no_design_is_named(tmp_path: Path, manifest: object) -> None:
    (tmp_path / "manifest.json").write_text(json.dumps(manifest))
    with pytest.raises(ResultError, match=r"manifest\.json does not say how its variants came to be"):
        load_design(tmp_path)
