"""How many requests are served at once."""

import pytest

from jobferry.localkube.apiserver.serving.limits import Room
from jobferry.localkube.apiserver.status import StatusError


def test_who_finds_no_room_is_told_to_come_again() -> None:
    room = Room(reads=1, writes=1)

    with room.taken(reads=True), pytest.raises(StatusError) as refused, room.taken(reads=True):
        pass

    assert refused.value.code == 429
    assert refused.value.retry_after == 1


def test_reads_leave_room_for_writes_and_room_comes_back() -> None:
    room = Room(reads=1, writes=1)

    with room.taken(reads=True), room.taken(reads=False):
        pass

    assert (room.reads, room.writes) == (1, 1)
