"""The typed client of the REST API, for the command line and for programs."""

import base64
import hashlib
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, TypeVar
from uuid import uuid4

import httpx2 as httpx

from service.cut_shapes import Cut
from service.db.states import FINAL_STATES, CollectionState
from service.schemas import Collection, Export, Pair, Retried, Run
from service.schemas_reviews import Estimate, Plan, Review, ReviewBatch, ReviewGiven, Stored

PIECE = 1 << 20
# Names that mean the file is on its way; followed by waiting with a growing pause.
FIRST_PAUSE_SECONDS, LONGEST_PAUSE_SECONDS = 0.1, 2.0

Watched = TypeVar("Watched", Collection, Run, Export)


class ApiProblem(Exception):
    """The service said no; `code` and `detail` are its words."""

    def __init__(self, status: int, code: str, detail: str) -> None:
        super().__init__(detail)
        self.status, self.code, self.detail = status, code, detail


class Client:
    def __init__(self, url: str, key: str, *, timeout_seconds: float = 60.0) -> None:
        self._http = httpx.Client(
            base_url=url, headers={"Authorization": f"Bearer {key}"}, timeout=timeout_seconds, trust_env=False
        )

    def close(self) -> None:
        self._http.close()

    def create_collection(self, name: str, **options: Any) -> Collection:
        body = {"name": name, **{key: value for key, value in options.items() if value is not None}}
        return Collection.model_validate(self._post("/v1/collections", body))

    def upload(
        self, collection_id: Any, path: Path, on_progress: Callable[[int, int], None] | None = None
    ) -> Collection:
        """Stream the file; its digest goes along so that the service can check what arrived."""
        size = path.stat().st_size
        with path.open("rb") as file:
            digest = base64.b64encode(hashlib.file_digest(file, "sha256").digest()).decode()
        response = self._http.put(
            f"/v1/collections/{collection_id}/file",
            params={"file_name": path.name},
            content=_pieces(path, size, on_progress),
            headers={"Content-Digest": f"sha-256=:{digest}:", "Content-Length": str(size)},
        )
        return Collection.model_validate(_checked(response))

    def collection(self, id: Any) -> Collection:
        return Collection.model_validate(self._get(f"/v1/collections/{id}"))

    def rejects(self, id: Any) -> Iterator[dict[str, Any]]:
        yield from self._pages(f"/v1/collections/{id}/rejects")

    def retry_images(self, id: Any, classes: list[str] | None = None) -> Retried:
        return Retried.model_validate(self._post(f"/v1/collections/{id}/images/retry", {"classes": classes}))

    def start_run(self, collection_id: Any, options: dict[str, Any]) -> Run:
        return Run.model_validate(self._post(f"/v1/collections/{collection_id}/runs", options))

    def score(self, run_id: Any, collection_id: Any) -> Run:
        """A new run on the collection, judged with the networks of this one."""
        return Run.model_validate(self._post(f"/v1/runs/{run_id}/score", {"collection": str(collection_id)}))

    def run(self, id: Any) -> Run:
        return Run.model_validate(self._get(f"/v1/runs/{id}"))

    def cancel(self, id: Any) -> Run:
        return Run.model_validate(self._post(f"/v1/runs/{id}/cancel", None))

    def resume(self, id: Any) -> Run:
        return Run.model_validate(self._post(f"/v1/runs/{id}/resume", None))

    def pairs(self, run_id: Any, **query: Any) -> Iterator[Pair]:
        for item in self._pages(f"/v1/runs/{run_id}/pairs", **query):
            yield Pair.model_validate(item)

    def report(self, run_id: Any) -> dict[str, Any]:
        return dict(self._get(f"/v1/runs/{run_id}/report"))

    def report_html(self, run_id: Any) -> str:
        response = self._http.get(f"/v1/runs/{run_id}/report.html")
        if not response.is_success:
            _checked(response)
        return response.text

    def cut(self, run_id: Any, **wish: Any) -> Cut:
        """What a cut would give; the run's own without a wish."""
        return Cut.model_validate(self._get(f"/v1/runs/{run_id}/cut", **wish))

    def review_plan(self, run_id: Any, **query: Any) -> Plan:
        return Plan.model_validate(self._get(f"/v1/runs/{run_id}/review-plan", **query))

    def review(self, run_id: Any, uid: str, given: ReviewGiven) -> Review:
        path = f"/v1/runs/{run_id}/pairs/{uid}/review"
        return Review.model_validate(_checked(self._http.put(path, json=given.model_dump(mode="json"))))

    def review_many(self, run_id: Any, batch: ReviewBatch) -> int:
        """How many were stored; all of them or none."""
        stored = self._post(f"/v1/runs/{run_id}/reviews", batch.model_dump(mode="json"))
        return Stored.model_validate(stored).stored

    def review_estimate(self, run_id: Any, **query: Any) -> Estimate:
        return Estimate.model_validate(self._get(f"/v1/runs/{run_id}/review-estimate", **query))

    def start_export(self, run_id: Any, format: str, **filters: Any) -> Export:
        return Export.model_validate(self._post(f"/v1/runs/{run_id}/exports", {"format": format, **filters}))

    def export(self, id: Any) -> Export:
        return Export.model_validate(self._get(f"/v1/exports/{id}"))

    def download(self, export: Export, target: Path) -> None:
        """The file, checked against its sha256 before it takes its name."""
        digest = hashlib.sha256()
        temporary = target.with_name(f".{target.name}.{uuid4().hex}.part")
        try:
            with (
                self._http.stream("GET", f"/v1/exports/{export.id}/download") as response,
                temporary.open("xb") as file,
            ):
                if response.status_code != 200:
                    response.read()
                    _checked(response)
                for piece in response.iter_bytes():
                    digest.update(piece)
                    file.write(piece)
            if digest.hexdigest() != export.sha256:
                raise ApiProblem(502, "digest_mismatch", f"{target} did not arrive as it was sent; try again.")
            temporary.replace(target)
        finally:
            temporary.unlink(missing_ok=True)

    def wait_for_collection(self, id: Any, on_change: Callable[[Collection], None] | None = None) -> Collection:
        return _wait(lambda: self.collection(id), lambda item: item.state != CollectionState.INGESTING, on_change)

    def wait_for_run(self, id: Any, on_change: Callable[[Run], None] | None = None) -> Run:
        return _wait(lambda: self.run(id), lambda item: item.state in FINAL_STATES, on_change)

    def wait_for_export(self, id: Any, on_change: Callable[[Export], None] | None = None) -> Export:
        return _wait(lambda: self.export(id), lambda item: item.state in FINAL_STATES, on_change)

    def _get(self, path: str, **query: Any) -> Any:
        return _checked(self._http.get(path, params={key: value for key, value in query.items() if value is not None}))

    def _post(self, path: str, body: Any) -> Any:
        return _checked(self._http.post(path, json=body, headers={"Idempotency-Key": uuid4().hex}))

    def _pages(self, path: str, **query: Any) -> Iterator[dict[str, Any]]:
        query.setdefault("limit", 1000)
        while True:
            page = self._get(path, **query)
            yield from page["items"]
            if not page["next"]:
                return
            query["cursor"] = page["next"]


def _wait(
    look: Callable[[], Watched],
    is_done: Callable[[Watched], bool],
    on_change: Callable[[Watched], None] | None,
) -> Watched:
    pause = FIRST_PAUSE_SECONDS
    while True:
        item = look()
        if on_change:
            on_change(item)
        if is_done(item):
            return item
        time.sleep(pause)
        pause = min(pause * 1.3, LONGEST_PAUSE_SECONDS)


def _pieces(path: Path, size: int, on_progress: Callable[[int, int], None] | None) -> Iterator[bytes]:
    sent = 0
    with path.open("rb") as file:
        while piece := file.read(PIECE):
            yield piece
            sent += len(piece)
            if on_progress:
                on_progress(sent, size)


def _checked(response: httpx.Response) -> Any:
    if response.is_success:
        return response.json() if response.content else None
    try:
        problem = response.json()
        raise ApiProblem(response.status_code, problem["code"], problem["detail"])
    except (ValueError, KeyError, TypeError):
        text = response.text[:200]
        raise ApiProblem(response.status_code, "unexpected", f"HTTP {response.status_code}: {text}") from None
