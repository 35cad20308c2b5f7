from typing import Any

import httpx2 as httpx
import pytest

from model.transfer import LEAST_CALIBRATED

METHODS = {"get", "put", "post", "delete", "patch"}
# What generated clients are built on: a name here is changed only together with the version of the API.
OPERATIONS = {
    "createCollection", "listCollections", "getCollection", "deleteCollection", "uploadFile", "listRejects",
    "retryImages", "listMethods", "startRun", "listRuns", "getRun", "scoreWithRun", "cancelRun", "resumeRun",
    "getReport", "getReportPage",
    "listPairs", "getPair", "getCut", "startExport", "getExport", "downloadExport",
    "putReview", "getReview", "deleteReview", "putReviews", "listReviews", "planReviews", "estimateByReviews",
    "createKey", "listKeys", "revokeKey", "isAlive", "isReady",
}  # fmt: skip


@pytest.fixture(scope="module")
def document(idle_url: str) -> dict[str, Any]:
    return dict(httpx.get(f"{idle_url}/openapi.json").json())


@pytest.fixture(scope="module")
def operations(document: dict[str, Any]) -> dict[str, dict[str, Any]]:
    listed = [call for calls in document["paths"].values() for name, call in calls.items() if name in METHODS]
    named = {call["operationId"]: call for call in listed}
    assert len(named) == len(listed), "an operationId is used twice"
    return named


class TestOpenApi:
    def test_version_is_3_1_and_the_way_of_a_collection_is_told(self, document: dict[str, Any]) -> None:
        assert document["openapi"].startswith("3.1")
        assert "PUT /v1/collections/{id}/file" in document["info"]["description"]

    def test_operation_ids_are_stable(self, operations: dict[str, Any]) -> None:
        assert set(operations) == OPERATIONS

    @pytest.mark.parametrize("name", sorted(OPERATIONS))
    def test_operation_says_what_it_does_and_how_it_fails(self, operations: dict[str, Any], name: str) -> None:
        call = operations[name]
        assert call["summary"]
        assert call["description"]
        assert call["tags"]
        assert "application/problem+json" in call["responses"]["default"]["content"]
        assert "422" not in call["responses"], "validation errors are problems too"

    @pytest.mark.parametrize("name", sorted(OPERATIONS - {"isAlive", "isReady"}))
    def test_operation_needs_a_key(self, operations: dict[str, Any], name: str) -> None:
        assert operations[name]["security"] == [{"API key": []}]

    @pytest.mark.parametrize("name", ["createCollection", "startRun", "scoreWithRun", "startExport"])
    def test_creating_calls_take_an_idempotency_key(self, operations: dict[str, Any], name: str) -> None:
        assert "Idempotency-Key" in {parameter["name"] for parameter in operations[name]["parameters"]}

    def test_upload_takes_the_raw_file(self, operations: dict[str, Any]) -> None:
        content = operations["uploadFile"]["requestBody"]["content"]
        assert {"text/tab-separated-values", "application/gzip", "application/octet-stream"} == set(content)

    def test_requests_have_examples(self, document: dict[str, Any]) -> None:
        schemas = document["components"]["schemas"]
        for name in ("RunCreate", "ExportCreate"):
            assert schemas[name]["examples"], name

    def test_everything_a_caller_can_send_is_described(
        self, document: dict[str, Any], operations: dict[str, Any]
    ) -> None:
        sent = [(name, parameter) for name, call in operations.items() for parameter in call.get("parameters", ())]
        silent = [(name, item["name"]) for name, item in sent if item["in"] != "path" and not item.get("description")]
        requests = ("CollectionCreate", "RunCreate", "ExportCreate", "KeyCreate", "ReviewGiven", "ReviewBatch")
        for name in requests:
            fields = document["components"]["schemas"][name]["properties"]
            silent += [(name, field) for field, schema in fields.items() if not schema.get("description")]
        assert silent == []

    def test_every_reference_leads_somewhere(self, document: dict[str, Any]) -> None:
        schemas = document["components"]["schemas"]
        for reference in references(document):
            assert reference.removeprefix("#/components/schemas/") in schemas

    def test_scoring_says_whose_calibration_counts(self, operations: dict[str, Any], document: dict[str, Any]) -> None:
        said = " ".join(operations["scoreWithRun"]["description"].split())
        assert f"From {LEAST_CALIBRATED} pairs on the new pairs are calibrated among themselves" in said
        count = document["components"]["schemas"]["ProbeShare"]["properties"]["count"]["description"]
        assert "For a scored run nothing was trained" in count


def references(value: Any) -> list[str]:
    if isinstance(value, list):
        return [found for item in value for found in references(item)]
    if not isinstance(value, dict):
        return []
    own = [value["$ref"]] if isinstance(value.get("$ref"), str) else []
    return own + [found for item in value.values() for found in references(item)]
