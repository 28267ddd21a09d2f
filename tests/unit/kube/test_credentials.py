from datetime import UTC, datetime
from pathlib import Path

import pytest

from jobferry.errors import BadInput
from jobferry.kube.access import Fixed
from jobferry.kube.credentials import READ_AGAIN_AFTER, Papers, credentials_from
from jobferry.kube.material import Material
from jobferry.testing.certificates import Authority
from jobferry.testing.clock import ManualClock

AUTHORITY = Authority(datetime(2026, 1, 1, tzinfo=UTC))


@pytest.fixture
def clock() -> ManualClock:
    return ManualClock()


@pytest.fixture
def token_file(tmp_path: Path) -> Path:
    file = tmp_path / "token"
    file.write_text("one\n")
    return file


def write(file: Path, content: str | None) -> None:
    file.unlink(missing_ok=True)
    if content is not None:
        file.write_text(content)


def papers_with(token_file: Path) -> Papers:
    return Papers(tokens=(Material("config: tokenFile", token_file),))


def test_what_is_written_in_place_never_changes(clock: ManualClock) -> None:
    pair = AUTHORITY.client("ann")

    credentials = credentials_from(
        Papers(
            tokens=(Material("token", b"abc"),),
            certificate=Material("certificate", pair.certificate),
            key=Material("key", pair.key),
        ),
        clock,
    )

    assert isinstance(credentials, Fixed)
    assert credentials.who.authorization == "Bearer abc"
    assert credentials.who.certificate == pair.certificate
    assert credentials.who.key == pair.key


async def test_a_rotated_token_file_is_read_again(clock: ManualClock, token_file: Path) -> None:
    credentials = credentials_from(papers_with(token_file), clock)
    write(token_file, "two\n")

    before = await credentials.identity()
    clock.advance(READ_AGAIN_AFTER)
    after = await credentials.identity()

    assert (before.authorization, after.authorization) == ("Bearer one", "Bearer two")


async def test_a_refused_token_is_read_again_at_once(
    clock: ManualClock, token_file: Path
) -> None:
    credentials = credentials_from(papers_with(token_file), clock)
    refused = await credentials.identity()
    write(token_file, "two\n")

    assert credentials.reject(refused)
    assert (await credentials.identity()).authorization == "Bearer two"


async def test_asking_again_is_useless_while_the_file_says_the_same(
    clock: ManualClock, token_file: Path
) -> None:
    credentials = credentials_from(papers_with(token_file), clock)

    assert not credentials.reject(await credentials.identity())


@pytest.mark.parametrize("content", [None, "", "half\0written"])
async def test_a_file_that_is_broken_for_a_moment_does_not_void_what_it_said(
    content: str | None, clock: ManualClock, token_file: Path
) -> None:
    credentials = credentials_from(papers_with(token_file), clock)
    write(token_file, content)
    clock.advance(READ_AGAIN_AFTER)

    during = await credentials.identity()
    write(token_file, "two")
    clock.advance(READ_AGAIN_AFTER)
    after = await credentials.identity()

    assert (during.authorization, after.authorization) == ("Bearer one", "Bearer two")


def test_a_file_that_is_broken_from_the_start_is_an_error(
    clock: ManualClock, tmp_path: Path
) -> None:
    with pytest.raises(BadInput, match=r"^config: tokenFile: cannot read .*: No such file"):
        credentials_from(papers_with(tmp_path / "token"), clock)


async def test_the_token_beside_a_file_is_used_only_while_the_file_cannot_be_read(
    clock: ManualClock, tmp_path: Path
) -> None:
    file = tmp_path / "token"
    papers = Papers(tokens=(Material("tokenFile", file), Material("token", b"written")))
    credentials = credentials_from(papers, clock)

    before = await credentials.identity()
    write(file, "filed")
    clock.advance(READ_AGAIN_AFTER)
    after = await credentials.identity()

    assert (before.authorization, after.authorization) == ("Bearer written", "Bearer filed")


async def test_rotated_certificate_files_are_read_again(
    clock: ManualClock, tmp_path: Path
) -> None:
    old, new = AUTHORITY.client("ann"), AUTHORITY.client("ann")
    certificate, key = tmp_path / "tls.crt", tmp_path / "tls.key"
    certificate.write_bytes(old.certificate)
    key.write_bytes(old.key)
    credentials = credentials_from(
        Papers(certificate=Material("certificate", certificate), key=Material("key", key)),
        clock,
    )
    certificate.write_bytes(new.certificate)
    key.write_bytes(new.key)

    before = await credentials.identity()
    clock.advance(READ_AGAIN_AFTER)
    after = await credentials.identity()

    assert (before.certificate, before.key) == (old.certificate, old.key)
    assert (after.certificate, after.key) == (new.certificate, new.key)


def test_papers_are_never_shown() -> None:
    papers = Papers(tokens=(Material("token", b"hunter2"),), basic="Basic aHVudGVyMg==")

    assert "hunter2" not in repr(papers)
    assert "aHVudGVyMg" not in repr(papers)
    assert "hunter2" not in repr(papers.identity())
