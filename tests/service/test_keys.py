import hashlib
from collections.abc import Iterator
from uuid import uuid4

import pytest
from sqlalchemy import Engine, delete, text, update
from sqlalchemy.orm import Session

from service import keys
from service.db.session import transaction
from service.db.states import Scope
from service.db.tables import ApiKey, Workspace


@pytest.fixture
def session(quiet_engine: Engine) -> Iterator[Session]:
    with transaction(quiet_engine) as session:
        yield session
        session.execute(delete(Workspace))


class TestCreateKey:
    def test_secret_is_stored_only_hashed(self, session: Session) -> None:
        key, secret = keys.create_key(session, "laptop", [Scope.WRITE])
        stored = str(session.execute(text("SELECT api_keys::text FROM api_keys")).scalar_one())
        assert secret not in stored
        assert secret[len(key.hint) :] not in stored
        assert key.digest == hashlib.sha256(secret.encode()).digest()

    def test_secret_is_long_and_random(self, session: Session) -> None:
        secrets = {keys.create_key(session, "one of many", [Scope.READ])[1] for _ in range(5)}
        assert len(secrets) == 5
        assert all(secret.startswith("psk_") and len(secret) == 47 for secret in secrets)

    def test_keys_of_one_workspace_share_it(self, session: Session) -> None:
        first, _ = keys.create_key(session, "a", [Scope.READ], workspace="team")
        second, _ = keys.create_key(session, "b", [Scope.READ], workspace="team")
        assert first.workspace_id == second.workspace_id


class TestFindKey:
    def test_right_secret_finds_its_key(self, session: Session) -> None:
        key, secret = keys.create_key(session, "laptop", [Scope.READ])
        assert keys.find_key(session, secret) is key

    @pytest.mark.parametrize("change", [str.upper, lambda secret: secret[:-1], lambda _: "", lambda _: "psk_"])
    def test_any_other_secret_finds_nothing(self, session: Session, change: object) -> None:
        _, secret = keys.create_key(session, "laptop", [Scope.READ])
        assert keys.find_key(session, change(secret)) is None  # type: ignore[operator]

    def test_expired_key_is_not_found(self, session: Session) -> None:
        key, secret = keys.create_key(session, "laptop", [Scope.READ], days=1)
        assert keys.find_key(session, secret) is key
        session.execute(update(ApiKey).values(expires_at=text("now() - interval '1 second'")))
        assert keys.find_key(session, secret) is None

    def test_revoked_key_is_not_found(self, session: Session) -> None:
        key, secret = keys.create_key(session, "laptop", [Scope.READ])
        assert keys.revoke_key(session, key.id)
        assert keys.find_key(session, secret) is None


class TestRevokeKey:
    def test_unknown_key_is_reported(self, session: Session) -> None:
        assert not keys.revoke_key(session, uuid4())

    def test_key_of_another_workspace_is_left_alone(self, session: Session) -> None:
        key, secret = keys.create_key(session, "a", [Scope.READ], workspace="one")
        other, _ = keys.create_key(session, "b", [Scope.READ], workspace="two")
        assert not keys.revoke_key(session, key.id, other.workspace_id)
        assert keys.find_key(session, secret) is key

    def test_second_time_keeps_the_first_date(self, session: Session) -> None:
        key, _ = keys.create_key(session, "a", [Scope.READ])
        session.execute(update(ApiKey).values(revoked_at=text("timestamptz '2026-01-01'")))
        session.refresh(key)
        assert keys.revoke_key(session, key.id)
        session.flush()
        session.refresh(key)
        assert key.revoked_at is not None
        assert key.revoked_at.year == 2026
        assert key.revoked_at.month == 1


class TestAllows:
    @pytest.mark.parametrize(
        ("own", "allowed"),
        [
            (Scope.READ, {Scope.READ}),
            (Scope.WRITE, {Scope.READ, Scope.WRITE}),
            (Scope.ADMIN, {Scope.READ, Scope.WRITE, Scope.ADMIN}),
        ],
    )
    def test_scope_includes_the_smaller_ones(self, own: Scope, allowed: set[Scope]) -> None:
        assert {scope for scope in Scope if keys.allows(ApiKey(scopes=[own]), scope)} == allowed


class TestAnyKey:
    def test_only_keys_in_force_count(self, session: Session) -> None:
        assert not keys.any_key(session)
        key, _ = keys.create_key(session, "a", [Scope.ADMIN], days=1)
        assert keys.any_key(session)
        session.execute(update(ApiKey).values(expires_at=text("now() - interval '1 second'")))
        assert not keys.any_key(session)
        session.execute(update(ApiKey).values(expires_at=None))
        keys.revoke_key(session, key.id)
        assert not keys.any_key(session)
