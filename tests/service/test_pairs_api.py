import base64
import json
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from typing import Any
from uuid import uuid4

import httpx2 as httpx
import pytest
from sqlalchemy import Engine

from service import cursor
from service.db.session import transaction
from service.db.states import Scope
from service.db.tables import Run, Workspace
from tests.factories import Line, make_collection, make_run, publish_run, workspace_of
from tests.service.serving import caller, problem_of

# Ties in every score, numbers that no float4 holds exactly, both ends of the range; rows 5 and 11 have no score.
CONFIDENCES = {1: 0.7, 2: 0.1, 3: 0.7, 4: 1.0, 6: 0.0, 7: 0.1, 8: 0.7, 9: 1e-30, 10: 0.30000001, 12: 0.7}
CAPTIONS = [
    "100% wool scarf",
    "a_b under score",
    "a/b slash",
    "back\\slash",
    "ÄPFEL und Birnen",
    'she said "hi"',
    "שלום עולם",
    "cat 🐈 on a mat",
    "100 wool",
    "axb",
    "plain",
    "100% wool scarf",
]
# Rows 1, 4, 7 and 10 have a label, a quoted one and one with spaces among them.
LABELS = {1: "wool", 4: 'a "b", c', 7: " wool ", 10: "wool"}
SORTS = (
    "row", "clean_confidence", "confidence_a", "confidence_b", "rectified_correspondence", "similarity", "uncertainty",
    "label_confidence", "weight", "neighbour_agreement", "clip_similarity", "eme", "eme_soft",
)  # fmt: skip
Listed = list[dict[str, Any]]


def reader_of(run: Run, url: str, engine: Engine) -> AbstractContextManager[httpx.Client]:
    """A reader in the workspace of the run."""
    with transaction(engine) as session:
        name = session.get_one(Workspace, run.workspace_id).name
    return caller(url, engine, Scope.READ, name)


def kind_of(real: str) -> str:
    """What a cursor says it was made for."""
    return str(json.loads(base64.urlsafe_b64decode(real + "=" * (-len(real) % 4)))[0])


@pytest.fixture(scope="module")
def run(idle_engine: Engine) -> Run:
    urls = [f"http://127.0.0.1/{number}.png" for number in range(1, 12)]
    content = [
        Line(url, caption, label=LABELS.get(row))
        for row, (url, caption) in enumerate(zip([*urls, urls[0]], CAPTIONS, strict=True), start=1)
    ]
    with transaction(idle_engine) as session:
        return publish_run(session, make_collection(session, content), CONFIDENCES)


@pytest.fixture(scope="module")
def http(idle_url: str, idle_engine: Engine, run: Run) -> Iterator[httpx.Client]:
    with reader_of(run, idle_url, idle_engine) as client:
        yield client


@pytest.fixture(scope="module")
def listed(http: httpx.Client, run: Run) -> Callable[..., Listed]:
    def get(**query: Any) -> Listed:
        response = http.get(f"/v1/runs/{run.id}/pairs", params=query)
        assert response.status_code == 200, response.text
        return list(response.json()["items"])

    return get


def rows(found: Listed) -> list[int]:
    return [item["row"] for item in found]


def all_pages(http: httpx.Client, run: Run, limit: int, **query: Any) -> Listed:
    found: Listed = []
    query |= {"limit": limit}
    while True:
        page = http.get(f"/v1/runs/{run.id}/pairs", params=query).json()
        assert 0 < len(page["items"]) <= limit
        found += page["items"]
        if page["next"] is None:
            return found
        query["cursor"] = page["next"]


class TestListPairs:
    def test_every_pair_is_listed_in_file_order_with_what_is_known(self, listed: Callable[..., Listed]) -> None:
        found = listed()
        assert rows(found) == list(range(1, 13))
        scored, unscored = found[0], found[4]
        assert (scored["clean_confidence"], scored["split"], scored["is_mismatch_issue"]) == (0.7, "clean", False)
        assert (scored["status"], scored["width"], len(scored["sha256"])) == ("success", 64, 64)
        assert (unscored["clean_confidence"], unscored["split"], unscored["is_mismatch_issue"]) == (
            None,
            "unscored",
            None,
        )
        assert (unscored["status"], unscored["error_class"]) == ("failed", "404")
        assert [item["caption"] for item in found] == CAPTIONS
        assert {item["row"]: item["label"] for item in found if item["label"] is not None} == LABELS

    def test_what_a_method_does_not_say_is_null(self, listed: Callable[..., Listed]) -> None:
        found = {item["row"]: item for item in listed()}
        assert (found[1]["label_confidence"], found[1]["predicted_label"]) == (pytest.approx(5 / 7), "perhaps wool")
        assert (found[2]["uncertainty"], found[2]["label_confidence"], found[2]["predicted_label"]) == (None,) * 3
        assert rows(listed(sort="label_confidence")) == [7, 10, 1, 4]

    @pytest.mark.parametrize(
        ("query", "expected"),
        [
            ({"split": "clean"}, [1, 3, 4, 8, 12]),
            ({"split": "noisy"}, [2, 6, 7, 9, 10]),
            ({"split": "unscored"}, [5, 11]),
            ({"min_confidence": 0.7}, [1, 3, 4, 8, 12]),
            ({"min_confidence": 0.70001}, [4]),
            ({"max_confidence": 0.7}, [1, 2, 3, 6, 7, 8, 9, 10, 12]),
            ({"max_confidence": 0.1}, [2, 6, 7, 9]),
            ({"min_confidence": 0.1, "max_confidence": 0.7}, [1, 2, 3, 7, 8, 10, 12]),
            ({"min_confidence": 1}, [4]),
            ({"max_confidence": 0}, [6]),
            ({"min_confidence": 0}, [1, 2, 3, 4, 6, 7, 8, 9, 10, 12]),
            ({"min_confidence": "1e-300"}, [1, 2, 3, 4, 6, 7, 8, 9, 10, 12]),
            ({"max_confidence": "1e-46"}, [6]),
            ({"min_confidence": 0.8, "max_confidence": 0.2}, []),
            ({"split": "unscored", "min_confidence": 0}, []),
            ({"split": "clean", "text": "wool"}, [1, 12]),
            ({"text": ""}, list(range(1, 13))),
            ({"label": "wool"}, [1, 10]),
            ({"label": " wool "}, [7]),
            ({"label": 'a "b", c', "split": "clean"}, [4]),
            ({"label": "WOOL"}, []),
            ({"label": ""}, []),
        ],
    )
    def test_filter_keeps_exactly(
        self, listed: Callable[..., Listed], query: dict[str, Any], expected: list[int]
    ) -> None:
        assert rows(listed(**query)) == expected

    @pytest.mark.parametrize(
        ("text", "expected"),
        [
            ("100%", [1, 12]),
            ("a_b", [2]),
            ("a/b", [3]),
            ("k\\s", [4]),
            ("äpfel", [5]),
            ('"HI"', [6]),
            ("עולם", [7]),
            ("🐈", [8]),
            ("nothing like it", []),
            ("'; DROP TABLE pairs; --", []),
        ],
    )
    def test_text_is_searched_literally_in_any_case(
        self, listed: Callable[..., Listed], text: str, expected: list[int]
    ) -> None:
        assert rows(listed(text=text)) == expected

    @pytest.mark.parametrize("name", SORTS)
    def test_sort_is_by_value_then_row_both_ways(self, listed: Callable[..., Listed], name: str) -> None:
        known = [item for item in listed() if item[name] is not None]
        upwards = sorted(known, key=lambda item: (item[name], item["row"]))
        downwards = sorted(known, key=lambda item: (-item[name], item["row"]))
        assert listed(sort=name) == upwards
        assert listed(sort=f"-{name}") == downwards

    @pytest.mark.parametrize("limit", [1, 3, 1000])
    @pytest.mark.parametrize("sort", [f"{sign}{name}" for name in SORTS for sign in ("", "-")])
    def test_pages_put_together_are_the_whole_list(
        self, http: httpx.Client, run: Run, listed: Callable[..., Listed], sort: str, limit: int
    ) -> None:
        assert all_pages(http, run, limit, sort=sort) == listed(sort=sort)

    @pytest.mark.parametrize("limit", [5, 6])
    def test_last_page_has_no_next_even_when_it_is_full(self, http: httpx.Client, run: Run, limit: int) -> None:
        response = http.get(f"/v1/runs/{run.id}/pairs", params={"split": "clean", "limit": str(limit)})
        assert response.json()["next"] is None

    @pytest.mark.parametrize(
        "change",
        [{"split": "noisy"}, {"sort": "-row"}, {"sort": "similarity"}, {"min_confidence": 0.1}, {"label": "a"}],
    )
    def test_cursor_of_another_filter_is_refused(self, http: httpx.Client, run: Run, change: dict[str, Any]) -> None:
        path = f"/v1/runs/{run.id}/pairs"
        following = http.get(path, params={"limit": 1}).json()["next"]
        problem_of(http.get(path, params={"cursor": following, **change}), 422, "invalid_cursor")

    def test_cursor_of_another_run_is_refused(self, http: httpx.Client, run: Run, idle_engine: Engine) -> None:
        following = http.get(f"/v1/runs/{run.id}/pairs", params={"limit": 1}).json()["next"]
        with transaction(idle_engine) as session:
            collection = make_collection(session, 2, workspace_id=workspace_of(session, http))
            other = publish_run(session, collection, {})
        response = http.get(f"/v1/runs/{other.id}/pairs", params={"cursor": following})
        problem_of(response, 422, "invalid_cursor")

    @pytest.mark.parametrize("made_up", ["x", "%%%", "e30", "bnVsbA", "ä", "W" * 9000])
    def test_cursor_that_is_none_is_refused(self, http: httpx.Client, run: Run, made_up: str) -> None:
        response = http.get(f"/v1/runs/{run.id}/pairs", params={"cursor": made_up})
        assert "next" in problem_of(response, 422, "invalid_cursor")

    @pytest.mark.parametrize("value", [float("nan"), float("inf"), 1e300, "0.5", None, 1])
    def test_cursor_with_a_made_up_value_is_refused(self, http: httpx.Client, run: Run, value: Any) -> None:
        path = f"/v1/runs/{run.id}/pairs"
        real = http.get(path, params={"limit": 1, "sort": "similarity"}).json()["next"]
        kind = kind_of(real)
        response = http.get(path, params={"sort": "similarity", "cursor": cursor.encode(kind, value, 1, None)})
        problem_of(response, 422, "invalid_cursor")

    @pytest.mark.parametrize("row", [2**70, -1, 1.5, "1", True])
    def test_cursor_with_a_made_up_row_is_refused(self, http: httpx.Client, run: Run, row: Any) -> None:
        path = f"/v1/runs/{run.id}/pairs"
        kind = kind_of(http.get(path, params={"limit": 1}).json()["next"])
        problem_of(http.get(path, params={"cursor": cursor.encode(kind, 1, row, None)}), 422, "invalid_cursor")

    @pytest.mark.parametrize(
        ("query", "field"),
        [
            ("split=dirty", "split"),
            ("sort=caption", "sort"),
            ("min_confidence=1.1", "min_confidence"),
            ("max_confidence=nan", "max_confidence"),
            ("limit=0", "limit"),
            ("limit=1001", "limit"),
            ("text=%00", "text"),
            ("label=%00", "label"),
            ("sort=predicted_label", "sort"),
            ("colour=red", "colour"),
        ],
    )
    def test_wrong_parameter_is_named(self, http: httpx.Client, run: Run, query: str, field: str) -> None:
        assert field in problem_of(http.get(f"/v1/runs/{run.id}/pairs?{query}"), 422, "invalid_request")

    def test_run_without_scores_lists_its_pairs_unscored(self, idle_http: httpx.Client, idle_engine: Engine) -> None:
        with transaction(idle_engine) as session:
            collection = make_collection(session, 2, workspace_id=workspace_of(session, idle_http))
            unpublished = make_run(session, collection)
        found = idle_http.get(f"/v1/runs/{unpublished.id}/pairs").json()["items"]
        assert [(item["split"], item["status"]) for item in found] == [("unscored", "pending")] * 2


class TestGetPair:
    def test_pair_is_found_by_its_uid(self, http: httpx.Client, run: Run, listed: Callable[..., Listed]) -> None:
        wanted = listed()[7]
        assert http.get(f"/v1/runs/{run.id}/pairs/{wanted['uid']}").json() == [wanted]

    def test_repeated_pair_shows_all_its_rows(
        self, http: httpx.Client, run: Run, listed: Callable[..., Listed]
    ) -> None:
        first, last = listed()[0], listed()[11]
        assert first["uid"] == last["uid"]
        assert http.get(f"/v1/runs/{run.id}/pairs/{first['uid']}").json() == [first, last]

    def test_unknown_uid_is_not_found(self, http: httpx.Client, run: Run) -> None:
        problem_of(http.get(f"/v1/runs/{run.id}/pairs/{uuid4().hex}"), 404, "not_found")

    def test_uid_that_is_none_is_refused(self, http: httpx.Client, run: Run) -> None:
        assert "32 hex" in problem_of(http.get(f"/v1/runs/{run.id}/pairs/xyz"), 422, "invalid_uid")
