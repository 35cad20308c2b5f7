"""Explanations of published runs over HTTP, and what may be asked of a corrected export."""

from collections.abc import Iterator
from typing import Any

import httpx2 as httpx
import pytest
from sqlalchemy import Engine, func, select

from service.db.session import transaction
from service.db.states import Scope
from service.db.tables import Explanation, Run, Workspace
from tests.factories import Line, make_collection, publish_run
from tests.service.report_samples import made_report
from tests.service.serving import caller, problem_of

CONFIDENCES = {1: 0.9, 2: 0.1, 3: 0.8}
CAPTIONS = ("a red ball", "a 🐕 and two cats", "plain")
STORED = {
    "caption": [["dog", 2, 3, 0.125, False, None, False], ["2 cat", 8, 16, 0.25, False, "count", True]],
    "image": [["red ball", 0.9, 0.1, False, "concept"]],
}
REPAIR = {"captions": [[1, 0.5, 0.75], [3, 0.25, 0.0]], "images": [[3, 0.5, 0.25]]}


@pytest.fixture(scope="module")
def run(idle_engine: Engine) -> Run:
    content = [Line(f"http://127.0.0.1/{row}.png", caption) for row, caption in enumerate(CAPTIONS, start=1)]
    with transaction(idle_engine) as session:
        run = publish_run(session, make_collection(session, content), CONFIDENCES)
        session.add(Explanation(run_id=run.id, row=1, elements={"caption": [], "image": []}))
        session.add(Explanation(run_id=run.id, row=2, elements=STORED, repair=REPAIR))
        return run


@pytest.fixture(scope="module")
def http(idle_url: str, idle_engine: Engine, run: Run) -> Iterator[httpx.Client]:
    with transaction(idle_engine) as session:
        name = session.get_one(Workspace, run.workspace_id).name
    with caller(idle_url, idle_engine, Scope.WRITE, name) as client:
        yield client


def listed(http: httpx.Client, run: Run, **query: Any) -> list[dict[str, Any]]:
    response = http.get(f"/v1/runs/{run.id}/pairs", params=query)
    assert response.status_code == 200, response.text
    return list(response.json()["items"])


class TestListPairs:
    def test_elements_come_when_asked_for(self, http: httpx.Client, run: Run) -> None:
        plain, asked = listed(http, run), listed(http, run, elements=True)
        assert [(pair["elements"], pair["repair"]) for pair in plain] == [(None, None)] * 3
        assert [pair["eme"] for pair in plain] == [pair["eme"] for pair in asked] == [0.75, 0.5, 0.25]
        assert asked[0]["elements"] == {"caption": [], "image": []}
        assert asked[2]["elements"] is None
        assert [pair["repair"] is None for pair in asked] == [True, False, True]

    def test_pages_go_on_with_and_without_elements(self, http: httpx.Client, run: Run) -> None:
        path = f"/v1/runs/{run.id}/pairs"
        first = http.get(path, params={"limit": 2, "sort": "eme", "elements": True}).json()
        second = http.get(path, params={"limit": 2, "sort": "eme", "cursor": first["next"]}).json()
        assert [pair["row"] for pair in first["items"] + second["items"]] == [3, 2, 1]


class TestGetPair:
    def test_elements_have_the_words_of_the_caption(self, http: httpx.Client, run: Run) -> None:
        (uid,) = (pair["uid"] for pair in listed(http, run) if pair["row"] == 2)
        (pair,) = http.get(f"/v1/runs/{run.id}/pairs/{uid}").json()
        dog, cats = pair["elements"]["caption"]
        assert (dog["text"], dog["is_known"], dog["wrong"]) == ("🐕", False, None)
        assert (cats["text"], cats["lemma"], cats["start"], cats["end"]) == ("two cats", "2 cat", 8, 16)
        assert (cats["probability"], cats["is_depicted"], cats["wrong"]) == (0.25, False, "count")
        assert pair["elements"]["image"] == [
            {"lemma": "red ball", "probability": 0.9, "mention": 0.1, "is_mentioned": False, "source": "concept"}
        ]

    def test_suggestions_have_what_stands_in_their_rows(self, http: httpx.Client, run: Run) -> None:
        uids = {pair["row"]: pair["uid"] for pair in listed(http, run)}
        (pair,) = http.get(f"/v1/runs/{run.id}/pairs/{uids[2]}").json()
        assert pair["repair"] == {
            "captions": [
                {"uid": uids[1], "row": 1, "similarity": 0.5, "confidence": 0.75, "caption": "a red ball"},
                {"uid": uids[3], "row": 3, "similarity": 0.25, "confidence": 0.0, "caption": "plain"},
            ],
            "images": [
                {"uid": uids[3], "row": 3, "similarity": 0.5, "confidence": 0.25, "url": "http://127.0.0.1/3.png"}
            ],
        }


class TestCorrectedExport:
    def test_a_run_without_shifts_has_nothing_to_correct(self, http: httpx.Client, run: Run) -> None:
        answer = http.post(f"/v1/runs/{run.id}/exports", json={"corrected": True})
        assert "without `corrected`" in problem_of(answer, 409, "no_shifts")

    @pytest.mark.parametrize("others", [{"split": "clean"}, {"format": "weights"}, {"keep": 1, "text": "a"}])
    def test_choices_of_pairs_are_refused(self, http: httpx.Client, run: Run, others: dict[str, Any]) -> None:
        answer = http.post(f"/v1/runs/{run.id}/exports", json={"corrected": True, **others})
        detail = problem_of(answer, 422, "corrected_alone")
        assert all(str(name if name != "format" else "weights") in detail for name in others)

    def test_is_accepted_where_rows_are_shifted(self, http: httpx.Client, run: Run, idle_engine: Engine) -> None:
        with transaction(idle_engine) as session:
            session.get_one(Run, run.id).report = made_report()
        answer = http.post(f"/v1/runs/{run.id}/exports", json={"corrected": True})
        assert (answer.status_code, answer.json()["filter"]) == (202, {"corrected": True})


class TestDeleteCollection:
    def test_explanations_go_with_it(self, http: httpx.Client, idle_engine: Engine, run: Run) -> None:
        with transaction(idle_engine) as session:
            collection = make_collection(session, 1, workspace_id=run.workspace_id)
            gone = publish_run(session, collection, {1: 0.9})
            session.add(Explanation(run_id=gone.id, row=1, elements={"caption": [], "image": []}))
        assert http.delete(f"/v1/collections/{collection.id}").status_code == 204
        with transaction(idle_engine) as session:
            left = select(func.count()).select_from(Explanation).where(Explanation.run_id == gone.id)
            assert session.scalar(left) == 0
