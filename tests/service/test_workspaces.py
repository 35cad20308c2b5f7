from typing import Any, ClassVar
from uuid import UUID

import httpx2 as httpx
import pytest
from sqlalchemy import Engine

from service.db import submissions
from service.db.session import transaction
from service.db.states import JobState
from service.db.tables import Export, Run
from tests.factories import make_collection, publish_run
from tests.service.serving import problem_of


@pytest.fixture(scope="module")
def ids(idle_engine: Engine) -> dict[str, object]:
    with transaction(idle_engine) as session:
        collection = make_collection(session, 1)
        run = publish_run(session, collection, {1: 0.5})
        export = Export(workspace_id=run.workspace_id, run_id=run.id, format="tsv", filter={})
        session.add(export)
        session.flush()
        submissions.submit_export(session, export, collection.id)
    return {"collection": collection.id, "run": run.id, "export": export.id, "uid": "0" * 32}


class TestWorkspaces:
    """Whoever knows an id of another workspace learns nothing from it, not even that it exists."""

    CALLS = (
        ("GET", "/v1/collections/{collection}"),
        ("DELETE", "/v1/collections/{collection}"),
        ("PUT", "/v1/collections/{collection}/file"),
        ("GET", "/v1/collections/{collection}/rejects"),
        ("POST", "/v1/collections/{collection}/images/retry"),
        ("POST", "/v1/collections/{collection}/runs"),
        ("GET", "/v1/collections/{collection}/runs"),
        ("GET", "/v1/runs/{run}"),
        ("POST", "/v1/runs/{run}/score"),
        ("POST", "/v1/runs/{run}/cancel"),
        ("POST", "/v1/runs/{run}/resume"),
        ("GET", "/v1/runs/{run}/pairs"),
        ("GET", "/v1/runs/{run}/pairs/{uid}"),
        ("GET", "/v1/runs/{run}/cut"),
        ("PUT", "/v1/runs/{run}/pairs/{uid}/review"),
        ("GET", "/v1/runs/{run}/pairs/{uid}/review"),
        ("DELETE", "/v1/runs/{run}/pairs/{uid}/review"),
        ("POST", "/v1/runs/{run}/reviews"),
        ("GET", "/v1/collections/{collection}/reviews"),
        ("GET", "/v1/runs/{run}/report"),
        ("GET", "/v1/runs/{run}/report.html"),
        ("GET", "/v1/runs/{run}/review-plan"),
        ("GET", "/v1/runs/{run}/review-estimate"),
        ("POST", "/v1/runs/{run}/exports"),
        ("GET", "/v1/exports/{export}"),
        ("GET", "/v1/exports/{export}/download"),
    )

    BODIES: ClassVar[dict[str, Any]] = {
        "score": {"json": {"collection": str(UUID(int=0))}},
        "review": {"json": {"verdict": "match"}},
        "reviews": {"json": {"reviews": [{"uid": "0" * 32, "verdict": "match"}]}},
    }

    @pytest.mark.parametrize(("method", "path"), CALLS)
    def test_ids_of_another_workspace_are_not_found(
        self, idle_http: httpx.Client, idle_engine: Engine, ids: dict[str, object], method: str, path: str
    ) -> None:
        body: dict[str, Any] = {"json": {}} if method == "POST" else {"content": b"a\tb"} if method == "PUT" else {}
        body = self.BODIES.get(path.rpartition("/")[2], body)
        problem_of(idle_http.request(method, path.format(**ids), **body), 404, "not_found")
        with transaction(idle_engine) as session:
            assert session.get_one(Run, ids["run"]).state == JobState.SUCCEEDED

    def test_every_call_that_takes_an_id_is_listed_above(self, idle_url: str) -> None:
        paths = httpx.get(f"{idle_url}/openapi.json").json()["paths"]
        calls = {(method.upper(), path) for path, methods in paths.items() for method in methods if "{" in path}
        listed = {
            (method, path.replace("{collection}", "{id}").replace("{run}", "{id}").replace("{export}", "{id}"))
            for method, path in self.CALLS
        }
        assert calls - {("DELETE", "/v1/keys/{id}")} == listed
