"""Ids that a seed repeats."""

import re
from random import Random
from uuid import UUID

from jobferry.localkube.apiserver import ids


def test_uids_are_random_uuids() -> None:
    random = Random(1)
    drawn = [ids.uid(random) for _ in range(500)]
    assert len(set(drawn)) == 500
    assert {UUID(each).version for each in drawn} == {4}
    assert [str(UUID(each)) for each in drawn] == drawn


def test_suffixes_have_five_characters_and_no_vowels() -> None:
    random = Random(1)
    drawn = [ids.suffix(random) for _ in range(500)]
    assert all(re.fullmatch("[bcdfghjklmnpqrstvwxz2456789]{5}", each) for each in drawn)
    assert len(set("".join(drawn))) == 27
    assert drawn[:2] == [ids.suffix(again) for again in [Random(1)] for _ in range(2)]
