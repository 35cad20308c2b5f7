"""The account of the embedded PostgreSQL, which for root is made when it is missing."""

import pwd
import subprocess
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from uuid import uuid4

import pytest

from service import postgres_account
from tests.service.embedded_help import needs_root


@pytest.fixture
def name(monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    """Of an account that this machine does not have."""
    name = f"pairsift-{uuid4().hex[:8]}"
    monkeypatch.setattr(postgres_account, "ACCOUNT", name)
    yield name
    subprocess.run(["userdel", name], check=False, capture_output=True)


@needs_root
class TestPostgresAccount:
    def test_commands_that_come_first_together_have_the_same(self, name: str) -> None:
        with ThreadPoolExecutor(6) as pool:
            found = [made.result() for made in [pool.submit(postgres_account.postgres_account) for _ in range(6)]]
        entry = pwd.getpwnam(name)
        assert {(one.uid, one.gid) for one in found} == {(entry.pw_uid, entry.pw_gid)}

    def test_it_cannot_be_logged_in_to(self, name: str) -> None:
        postgres_account.postgres_account()
        entry = pwd.getpwnam(name)
        assert entry.pw_shell == "/usr/sbin/nologin"
        assert entry.pw_dir == "/nonexistent"
