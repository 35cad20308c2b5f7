"""Known mismatches join every training. Whatever the service gives out of a real run speaks of the uploaded pairs only:
every GET endpoint and every export format, with any filter."""

from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sqlalchemy import Engine, func, select

from model.probes import Probes
from service.client import Client
from service.config import Settings
from service.db.session import transaction
from service.db.states import Scope
from service.db.tables import Image, Pair, Review, Score
from service.storage import Storage
from tests.conftest import make_key, serving
from tests.probe_run import (
    ACCEPTED,
    READ,
    REJECTED,
    REPEATED,
    SCORED,
    UNREADABLE,
    Published,
    check,
    numbers,
    of_path,
    pages,
    work,
    write_folder,
)
from tests.service.serving import caller
from worker.stages.context import StageFailed
from worker.stages.train import PROBES_FILE

QUICK = {"method": "crcl", "method_options": {"piece_epochs": [1], "freeze_epochs": 0}, "score_draws": 1}
# GET endpoints that say nothing of a collection or its runs.
ELSEWHERE = {"listMethods", "listKeys", "isAlive", "isReady"}

Document = dict[str, Any]


@pytest.fixture(scope="module")
def quiet_settings(settings: Settings, quiet_engine: Engine, tmp_path_factory: pytest.TempPathFactory) -> Settings:
    url = quiet_engine.url.render_as_string(hide_password=False)
    return settings.model_copy(update={"database_url": url, "storage": tmp_path_factory.mktemp("probes")})


@pytest.fixture(scope="module")
def published(
    quiet_engine: Engine, quiet_settings: Settings, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Published]:
    folder = write_folder(tmp_path_factory.mktemp("embeddings"))
    with serving(quiet_settings) as url, caller(url, quiet_engine, workspace="probes") as http:
        client = Client(url, make_key(quiet_engine, Scope.WRITE, "probes"))
        collection = client.create_collection("embeddings", folder=str(folder))
        work(quiet_engine, quiet_settings)
        run = client.start_run(collection.id, QUICK)
        work(quiet_engine, quiet_settings)
        export = client.start_export(run.id, "jsonl")
        work(quiet_engine, quiet_settings)
        with transaction(quiet_engine) as session:
            known = session.execute(select(Pair.row, Pair.uid).where(Pair.collection_id == collection.id))
            uids = {row: uid.hex for row, uid in known}
        probes = len(Probes.load(Storage(quiet_settings.required_storage).run(run.id) / PROBES_FILE))
        ids = {"collections": str(collection.id), "runs": str(run.id), "exports": str(export.id)}
        http.put(f"/v1/runs/{run.id}/pairs/{uids[1]}/review", json={"verdict": "match"}).raise_for_status()
        yield Published(http, client, ids, uids, probes, uids[1])
        client.close()


@pytest.fixture(scope="module")
def document(published: Published) -> Document:
    return dict(published.http.get("/openapi.json").json())


def operations(document: Document) -> dict[str, tuple[str, dict[str, Any]]]:
    """Every GET of the description: its path and its query parameters with their schemas."""
    found = {}
    for path, methods in document["paths"].items():
        if asked := methods.get("get"):
            query = {p["name"]: p["schema"] for p in asked.get("parameters", []) if p["in"] == "query"}
            found[asked["operationId"]] = (path, query)
    return found


def choices(schema: dict[str, Any], document: Document) -> list[Any]:
    """The values that a parameter can have, where they are listed."""
    found = list(schema.get("enum", []))
    for part in schema.get("anyOf", []):
        found += choices(part, document)
    if "const" in schema:
        found.append(schema["const"])
    if "$ref" in schema:
        found += choices(document["components"]["schemas"][schema["$ref"].rpartition("/")[2]], document)
    return found


# Of every endpoint the queries that are asked; no query is always among them. Filters of pairs are a test of their own.
QUERIES: dict[str, list[dict[str, Any]]] = {
    "listCollections": [{"limit": 1}],
    "getCollection": [],
    "listRejects": [{"limit": 1}],
    "listRuns": [{"limit": 1}],
    "getRun": [],
    "listPairs": [{"limit": 70}, {"limit": 90, "elements": True}],
    "getPair": [],
    "getCut": [{"keep": 10}, {"keep_share": 0.3}, {"cost_ratio": 2}, {"min_confidence": 0.2}, {"min_precision": 0}],
    "getReport": [],
    "getReportPage": [],
    "getReview": [],
    "listReviews": [{"limit": 1}],
    "planReviews": [
        {"limit": 500, "reason": reason} for reason in ("audit", "disagreement", "near_cut")
    ] + [{"limit": 500}],
    "estimateByReviews": [{"min_confidence": 0.3}],
    "getExport": [],
    "downloadExport": [],
}  # fmt: skip


class TestEveryEndpoint:
    def test_none_is_missing_here(self, document: Document) -> None:
        """A new one must be listed above, so that its answers are looked at."""
        assert operations(document).keys() == QUERIES.keys() | ELSEWHERE

    def test_there_is_something_to_leak(self, published: Published) -> None:
        collection, run = (published.client.collection(published.ids["collections"]), published.ids["runs"])
        assert (collection.accepted, collection.rejected) == (ACCEPTED, REJECTED)
        assert published.client.run(run).state == "succeeded"
        assert 150 < published.probes <= 200

    @pytest.mark.parametrize("name", QUERIES)
    def test_answers_speak_of_uploaded_pairs_only(self, name: str, document: Document, published: Published) -> None:
        path, parameters = operations(document)[name]
        for url in of_path(published, path):
            for query in [{}, *QUERIES[name]]:
                if "cursor" in parameters:
                    pages(published, url, query)
                    continue
                answer = published.http.get(url, params=query)
                assert answer.status_code == 200, answer.text
                is_json = answer.headers["content-type"] == "application/json"
                check(answer.json() if is_json else answer.text, published)

    def test_page_of_the_report_counts_no_probes_among_the_pairs(self, published: Published) -> None:
        text = published.http.get(f"/v1/runs/{published.ids['runs']}/report.html").text
        found = numbers(text)
        assert SCORED in found
        assert not found & published.told_off

    def test_neither_do_pairs_that_another_run_judged(
        self, published: Published, quiet_engine: Engine, quiet_settings: Settings
    ) -> None:
        """Mismatches are made of them too."""
        run = published.client.score(published.ids["runs"], published.ids["collections"])
        work(quiet_engine, quiet_settings)
        known = published.client.report(run.id)["calibration"]["probes"]
        made = replace(published, probes=sum(kind["count"] for kind in known.values()))
        assert made.probes > 1000
        for path in ("", "/report", "/cut", "/review-plan"):
            check(published.http.get(f"/v1/runs/{run.id}{path}").raise_for_status().json(), made)
        page = numbers(published.http.get(f"/v1/runs/{run.id}/report.html").text)
        assert SCORED in page
        assert not page & made.told_off
        assert sorted(pair["row"] for pair in pages(made, f"/v1/runs/{run.id}/pairs", {"limit": 90})) == sorted(
            published.uids
        )


class TestFailedRun:
    @pytest.mark.parametrize("clusters", [SCORED // 2 + 1, 1000], ids=["for the pairs", "for all"])
    def test_too_many_clusters_are_told_of_the_uploaded_pairs(
        self, published: Published, quiet_engine: Engine, quiet_settings: Settings, clusters: int
    ) -> None:
        """With the probes there would be enough pairs for the first number."""
        asked = {"method": "mrl", "method_options": {"clusters": clusters}}
        run = published.client.start_run(published.ids["collections"], asked)
        with pytest.raises(StageFailed):
            work(quiet_engine, quiet_settings)
        for path in (f"/v1/runs/{run.id}", f"/v1/collections/{published.ids['collections']}/runs"):
            check(published.http.get(path).raise_for_status().json(), published)
        error = published.client.run(run.id).error
        assert error is not None
        assert numbers(error.detail) == {2, SCORED // 2, SCORED}


class TestCounts:
    def test_tables_hold_the_uploaded_rows(self, published: Published, quiet_engine: Engine) -> None:
        collection_id, run_id = published.ids["collections"], published.ids["runs"]
        of_collection = [kind.collection_id == collection_id for kind in (Pair, Image, Review)]
        with transaction(quiet_engine) as session:
            counts = [session.scalar(select(func.count()).where(chosen)) for chosen in of_collection]
            scored = set(session.scalars(select(Score.row).where(Score.run_id == run_id)))
        assert counts == [ACCEPTED, ACCEPTED, 1]
        assert scored < published.uids.keys()
        assert len(scored) == SCORED

    def test_summary_adds_up_to_the_accepted_pairs(self, published: Published) -> None:
        summary = published.client.run(published.ids["runs"]).summary
        assert summary is not None
        assert (summary["pairs"], summary["unscored"]) == (ACCEPTED, UNREADABLE)
        assert summary["clean"] + summary["noisy"] == SCORED

    def test_report_counts_scored_pairs_and_beside_them_the_probes(self, published: Published) -> None:
        report, summary = published.client.report(published.ids["runs"]), published.client.run(published.ids["runs"])
        assert summary.summary is not None
        for histogram in report["histograms"].values():
            assert sum(histogram["pairs"]) == SCORED
            assert sum(histogram["kept"]) == summary.summary["clean"]
            assert sum(histogram["probes"]) == published.probes
            assert sum(sum(counts) for counts in histogram["probe_kinds"].values()) == published.probes
        assert sum(kind["count"] for kind in report["calibration"]["probes"].values()) == published.probes
        agreement = report["agreement"]
        assert sum(map(sum, agreement["grid"])) == SCORED
        names = ("both_clean", "both_noisy", "only_a_clean", "only_b_clean")
        assert sum(agreement[name] for name in names) == SCORED
        slices = report["slices"]
        assert (slices["overall"]["pairs"], slices["overall"]["flagged"]) == (SCORED, summary.summary["noisy"])
        for name in ("host", "caption_words", "language", "label"):
            assert sum(row["pairs"] for row in slices[name]) == SCORED, name
            assert sum(row["flagged"] for row in slices[name]) == summary.summary["noisy"], name

    def test_curve_is_of_the_scored_pairs(self, published: Published) -> None:
        """Its shares are whole numbers of them."""
        for row in published.client.report(published.ids["runs"])["calibration"]["curve"]:
            assert row["kept_share"] * SCORED == pytest.approx(round(row["kept_share"] * SCORED), abs=1e-4)

    def test_plan_proposes_every_scored_pair_once(self, published: Published) -> None:
        for reason in (None, "audit", "near_cut"):
            items = published.client.review_plan(published.ids["runs"], limit=500, reason=reason).items
            assert max(Counter(item.uid for item in items).values()) == 1
        # All but the repeated rows and the pair that has a review.
        assert len(published.client.review_plan(published.ids["runs"], limit=500, reason="audit").items) == (
            SCORED - REPEATED - 1
        )


CUTS: dict[str, st.SearchStrategy[Any]] = {
    "min_confidence": st.floats(0, 1),
    "min_precision": st.floats(0, 1),
    "keep_share": st.floats(0, 1),
    "keep": st.integers(0, SCORED),
    "cost_ratio": st.floats(0.01, 100),
}
OTHERS: dict[str, st.SearchStrategy[Any]] = {
    "max_confidence": st.floats(0, 1),
    "text": st.sampled_from(["", "thing", "1", "PICTURE 7", "nowhere"]),
    "label": st.sampled_from(["kind 1", "no such kind"]),
}
LISTED = ("split", "sort", "review")  # of these every value is tried that the description has
CUT: st.SearchStrategy[dict[str, Any]] = st.sampled_from(sorted(CUTS)).flatmap(
    lambda name: CUTS[name].map(lambda value: {name: value})
) | st.just({})
FEW = settings(max_examples=25, deadline=None)


class TestAnyFilter:
    def test_every_filter_is_tried(self, document: Document) -> None:
        _, parameters = operations(document)["listPairs"]
        assert parameters.keys() == CUTS.keys() | OTHERS.keys() | set(LISTED) | {"limit", "cursor", "elements"}
        assert all(choices(parameters[name], document) for name in LISTED)
        assert operations(document)["getCut"][1].keys() == CUTS.keys()

    @FEW
    @given(data=st.data())
    def test_pages_hold_uploaded_rows_once(self, document: Document, published: Published, data: st.DataObject) -> None:
        _, parameters = operations(document)["listPairs"]
        listed = {name: st.sampled_from(choices(parameters[name], document)) for name in LISTED}
        query = data.draw(CUT) | data.draw(st.fixed_dictionaries({}, optional=OTHERS | listed))
        if not self.is_reached(published, query):
            return
        items = pages(published, f"/v1/runs/{published.ids['runs']}/pairs", query | {"limit": 90})
        rows = Counter(item["row"] for item in items)
        assert rows.keys() <= published.uids.keys()
        assert max(rows.values(), default=1) == 1

    @FEW
    @given(wish=CUT)
    def test_kept_flagged_and_unscored_are_the_accepted_pairs(self, published: Published, wish: dict[str, Any]) -> None:
        if not self.is_reached(published, wish):
            return
        run_id = published.ids["runs"]
        cut = published.client.cut(run_id, **wish)
        assert cut.kept + cut.flagged == SCORED
        if "min_confidence" in wish:  # selects rows and leaves the splits as they are
            return
        splits = {split: list(published.client.pairs(run_id, split=split, **wish)) for split in ("clean", "noisy")}
        splits["unscored"] = list(published.client.pairs(run_id, split="unscored", **wish))
        assert [len(found) for found in splits.values()] == [cut.kept, cut.flagged, UNREADABLE]
        assert {pair.row for found in splits.values() for pair in found} == published.uids.keys()

    def is_reached(self, published: Published, wish: dict[str, Any]) -> bool:
        """No cut may promise the precision; then nothing is given out."""
        if "min_precision" not in wish:
            return True
        path = f"/v1/runs/{published.ids['runs']}/cut"
        answer = published.http.get(path, params={"min_precision": wish["min_precision"]})
        check(answer.json(), published)
        return answer.status_code == 200


EXPORT_FILTERS: list[dict[str, Any]] = [
    {},
    *({"split": split} for split in ("clean", "noisy", "unscored")),
    {"keep": 50, "split": "clean"},
    {"keep_share": 0.8, "split": "noisy"},
    {"cost_ratio": 4.0, "split": "clean"},
    {"min_precision": 0.0, "split": "clean"},
    {"min_confidence": 0.1, "max_confidence": 0.9},
    {"review": "none", "label": "kind 2", "text": "picture"},
]


class TestEveryExport:
    def test_files_hold_uploaded_rows_once(
        self, document: Document, published: Published, quiet_engine: Engine, quiet_settings: Settings, tmp_path: Path
    ) -> None:
        shape = document["components"]["schemas"]["ExportCreate"]["properties"]
        assert shape.keys() == CUTS.keys() | OTHERS.keys() | {"split", "review", "format", "corrected"}
        formats = choices(shape["format"], document)
        assert set(formats) == READ.keys()
        run_id, client = published.ids["runs"], published.client
        started = [
            {format: client.start_export(run_id, format, **filters).id for format in formats}
            for filters in EXPORT_FILTERS
        ]
        work(quiet_engine, quiet_settings)
        for filters, files in zip(EXPORT_FILTERS, started, strict=True):
            listed = list(client.pairs(run_id, **filters))
            for format, id in files.items():
                export = client.export(id)
                assert export.state == "succeeded", export.error
                client.download(export, tmp_path / "file")
                found = READ[format](tmp_path / "file", published)
                expected = [pair.row for pair in listed if format != "weights" or pair.weight is not None]
                assert Counter(found) == Counter(published.uids[row] for row in expected), (format, filters)
