"""A detector as an option of a run: what is said when the run is started."""

import httpx2 as httpx
import pytest
from sqlalchemy import Engine

from model.config import MIN_PAIRS
from service.db.session import transaction
from service.db.tables import Collection
from tests.factories import make_collection, workspace_of
from tests.service.serving import problem_of

DETECTOR = "/models/street.onnx"


@pytest.fixture
def collection(idle_http: httpx.Client, idle_engine: Engine) -> Collection:
    with transaction(idle_engine) as session:
        return make_collection(session, MIN_PAIRS, workspace_id=workspace_of(session, idle_http))


class TestStartRun:
    def test_path_is_kept_with_the_run(self, idle_http: httpx.Client, collection: Collection) -> None:
        """Whether there is such a file is known to the worker alone."""
        response = idle_http.post(f"/v1/collections/{collection.id}/runs", json={"detector": DETECTOR})
        assert response.status_code == 202
        assert response.json()["config"]["detector"] == DETECTOR

    def test_none_is_the_default(self, idle_http: httpx.Client, collection: Collection) -> None:
        response = idle_http.post(f"/v1/collections/{collection.id}/runs", json={})
        assert response.json()["config"]["detector"] == ""

    @pytest.mark.parametrize("path", ["street.onnx", "../street.onnx", "/models/street.pt", "/models/a\0b.onnx"])
    def test_what_can_be_no_such_file_is_refused(
        self, idle_http: httpx.Client, collection: Collection, path: str
    ) -> None:
        response = idle_http.post(f"/v1/collections/{collection.id}/runs", json={"detector": path})
        assert problem_of(response, 422, "invalid_option").startswith("detector: ")
        assert response.json()["errors"][0]["field"] == "detector"

    def test_wrong_type_is_named(self, idle_http: httpx.Client, collection: Collection) -> None:
        response = idle_http.post(f"/v1/collections/{collection.id}/runs", json={"detector": ["a"]})
        assert "detector" in problem_of(response, 422, "invalid_request")

    def test_collection_without_images_is_told_what_to_do(
        self, idle_http: httpx.Client, idle_engine: Engine, collection: Collection
    ) -> None:
        with transaction(idle_engine) as session:
            session.get_one(Collection, collection.id).format = {"format": "clip-retrieval", "images": "features"}
        path = f"/v1/collections/{collection.id}/runs"
        detail = problem_of(idle_http.post(path, json={"detector": DETECTOR}), 422, "detector_does_not_fit")
        assert detail.startswith("detector: the collection brings features and no images")
        assert "leave the detector out" in detail
        assert idle_http.post(path, json={}).status_code == 202


class TestMethods:
    def test_option_says_where_the_labels_lie(self, idle_http: httpx.Client) -> None:
        described = idle_http.get("/v1/methods").json()["options"]["detector"]
        assert described["default"] == ""
        assert "X.labels.txt" in described["help"]
