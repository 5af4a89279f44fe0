"""The promise of docs/policy.md: what was public in the last release still is."""

from __future__ import annotations

from tests.project import names


def test_no_public_name_is_lost() -> None:
    """Who removes one on purpose, in a minor version, writes the listing again, and says so in the changelog."""
    assert not [line for line in names.differences() if line.startswith("-")]


def test_the_listing_has_what_it_should() -> None:
    listed = names.listed()
    assert {"grad", "backward", "Tensor", "sin", "compile"} <= listed["ferrograd"]
    assert {"Linear", "Module"} <= listed["ferrograd.torch.nn"]
    assert {"backward", "detach", "view"} <= listed["ferrograd.torch.Tensor"]
