from collections.abc import Iterator
from uuid import uuid4

import httpx2 as httpx
import pytest
from sqlalchemy import Engine, text, update

from service.db.session import transaction
from service.db.states import Scope
from service.db.tables import ApiKey
from tests.service.serving import caller, problem_of


@pytest.fixture
def admin(idle_url: str, idle_engine: Engine) -> Iterator[httpx.Client]:
    with caller(idle_url, idle_engine, Scope.ADMIN) as client:
        yield client


def call_with(url: str, secret: str) -> httpx.Response:
    return httpx.get(f"{url}/v1/collections", headers={"Authorization": f"Bearer {secret}"})


class TestAuthentication:
    @pytest.mark.parametrize(
        "headers",
        [
            {},
            {"Authorization": "Bearer psk_wrong"},
            {"Authorization": "Bearer"},
            {"Authorization": "Basic dXNlcjpwYXNz"},
            {"Authorization": b"Bearer \xff\xfe"},
        ],
    )
    def test_no_valid_key_is_unauthorized(self, idle_url: str, headers: dict[str, str]) -> None:
        response = httpx.get(f"{idle_url}/v1/collections", headers=headers)
        assert "Bearer psk_" in problem_of(response, 401, "unauthorized")
        assert response.headers["WWW-Authenticate"] == "Bearer"

    def test_expired_key_is_unauthorized(self, admin: httpx.Client, idle_url: str, idle_engine: Engine) -> None:
        made = admin.post("/v1/keys", json={"name": "short", "scopes": ["read"], "days": 1}).json()
        assert call_with(idle_url, made["secret"]).status_code == 200
        with transaction(idle_engine) as session:
            past = text("now() - interval '1 second'")
            session.execute(update(ApiKey).where(ApiKey.id == made["id"]).values(expires_at=past))
        problem_of(call_with(idle_url, made["secret"]), 401, "unauthorized")


class TestCreateKey:
    def test_secret_is_shown_once_and_works(self, admin: httpx.Client, idle_url: str) -> None:
        made = admin.post("/v1/keys", json={"name": "laptop", "scopes": ["read"]})
        body = made.json()
        assert made.status_code == 201
        assert (body["name"], body["scopes"], body["expires_at"]) == ("laptop", ["read"], None)
        assert call_with(idle_url, body["secret"]).status_code == 200
        listed = admin.get("/v1/keys")
        assert body["secret"] not in listed.text
        assert body["id"] in {key["id"] for key in listed.json()}

    def test_new_key_sees_the_workspace_of_its_maker(self, admin: httpx.Client, idle_url: str) -> None:
        collection = admin.post("/v1/collections", json={}).json()
        secret = admin.post("/v1/keys", json={"name": "reader", "scopes": ["read"]}).json()["secret"]
        assert [item["id"] for item in call_with(idle_url, secret).json()["items"]] == [collection["id"]]

    @pytest.mark.parametrize(
        ("change", "field"),
        [
            ({"scopes": []}, "scopes"),
            ({"scopes": ["root"]}, "scopes"),
            ({"name": ""}, "name"),
            ({"name": "\0"}, "name"),
            ({"days": 0}, "days"),
            ({"days": 10**9}, "days"),
            ({"workspace": "other"}, "workspace"),
        ],
    )
    def test_wrong_field_is_named(self, admin: httpx.Client, change: dict[str, object], field: str) -> None:
        response = admin.post("/v1/keys", json={"name": "a", "scopes": ["read"], **change})
        assert field in problem_of(response, 422, "invalid_request")

    @pytest.mark.parametrize("scope", [Scope.READ, Scope.WRITE])
    def test_smaller_scope_may_not_make_keys(self, idle_url: str, idle_engine: Engine, scope: Scope) -> None:
        with caller(idle_url, idle_engine, scope) as client:
            body = {"name": "up", "scopes": ["admin"]}
            assert "admin" in problem_of(client.post("/v1/keys", json=body), 403, "forbidden")
            problem_of(client.get("/v1/keys"), 403, "forbidden")


class TestRevokeKey:
    def test_revoked_key_stops_at_once(self, admin: httpx.Client, idle_url: str) -> None:
        made = admin.post("/v1/keys", json={"name": "lost", "scopes": ["write"]}).json()
        assert admin.delete(f"/v1/keys/{made['id']}").status_code == 204
        problem_of(call_with(idle_url, made["secret"]), 401, "unauthorized")
        listed = {key["id"]: key for key in admin.get("/v1/keys").json()}
        assert listed[made["id"]]["revoked_at"] is not None

    def test_key_of_another_workspace_is_not_found(
        self, admin: httpx.Client, idle_url: str, idle_engine: Engine
    ) -> None:
        with caller(idle_url, idle_engine, Scope.ADMIN) as other:
            made = other.post("/v1/keys", json={"name": "theirs", "scopes": ["read"]}).json()
            problem_of(admin.delete(f"/v1/keys/{made['id']}"), 404, "not_found")
            assert made["id"] not in {key["id"] for key in admin.get("/v1/keys").json()}
        assert call_with(idle_url, made["secret"]).status_code == 200

    def test_unknown_key_is_not_found(self, admin: httpx.Client) -> None:
        problem_of(admin.delete(f"/v1/keys/{uuid4()}"), 404, "not_found")
