"""Slices and extremes of a made collection, counted by hand."""

import json
from collections.abc import Iterator, Mapping
from typing import Any

import pytest
from sqlalchemy import Engine, select
from sqlalchemy.orm import Session

from service.db.session import transaction
from service.db.states import ReviewReason, Verdict
from service.db.tables import Pair, Review, Run
from tests.factories import Line, make_collection, publish_run
from worker.stages import report
from worker.stages.report import build_report, extremes, host_of, slices, wilson, word_bin

# Of bad.example 9 of 10 are flagged, of good.example 1 of 30; one pair lies on a disk, one has no score.
LINES = [
    *(Line(f"http://bad.example:8080/{n}.png", "a dog on the beach", label="dog") for n in range(10)),
    *(Line(f"https://GOOD.example/{n}.png", "Собака" + " бежит" * 8) for n in range(30)),
    Line("file:///images/1.png", "DSC01"),
    Line("http://unread.example/1.png", "never seen"),
]
CONFIDENCES = {
    **{row: 0.01 * row for row in range(1, 11)},
    10: 0.9,
    **dict.fromkeys(range(11, 41), 0.8),
    11: 0.2,
    41: 0.7,
}


@pytest.fixture
def session(quiet_engine: Engine) -> Iterator[Session]:
    with transaction(quiet_engine) as session:
        yield session


@pytest.fixture
def run(session: Session) -> Run:
    publish_run(session, make_collection(session, 3), {1: 0.1, 2: 0.1, 3: 0.1})  # not to be counted
    return publish_run(session, make_collection(session, LINES), CONFIDENCES)


def counts(rows: list[dict[str, Any]]) -> dict[str, tuple[int, int]]:
    return {row["name"]: (row["pairs"], row["flagged"]) for row in rows}


def say(session: Session, run: Run, verdicts: Mapping[int, Verdict]) -> None:
    """By row."""
    known = select(Pair.row, Pair.uid).where(Pair.collection_id == run.collection_id, Pair.row.in_(verdicts))
    said = {"collection_id": run.collection_id, "reason": ReviewReason.CHOSEN, "reviewer": "me"}
    session.add_all(Review(uid=uid, verdict=verdicts[row], **said) for row, uid in session.execute(known))
    session.flush()


class TestSlices:
    def test_every_judged_pair_is_counted_once(self, session: Session, run: Run) -> None:
        found = slices(session, run.id, run.collection_id)
        assert counts([found["overall"]]) == {"all pairs": (41, 10)}
        assert counts(found["host"]) == {"good.example": (30, 1), "bad.example": (10, 9), "(no host)": (1, 0)}
        assert counts(found["caption_words"]) == {"1–2": (1, 0), "5–7": (10, 9), "8–11": (30, 1)}
        assert counts(found["language"]) == {"Cyrillic script": (30, 1), "English": (10, 9), "unknown": (1, 0)}
        assert counts(found["label"]) == {"dog": (10, 9)}

    def test_only_what_is_significantly_above_the_overall_rate_is_marked(self, session: Session, run: Run) -> None:
        found = slices(session, run.id, run.collection_id)
        assert {row["name"] for row in found["host"] if row["is_high"]} == {"bad.example"}
        row = next(row for row in found["host"] if row["name"] == "bad.example")
        assert row["low"] < row["rate"] == 0.9 < row["high"]

    def test_the_rest_is_one_row_at_the_end(self, session: Session, run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
        """With room for two names, the third one met is counted with the rest; with one listed, so is the second."""
        monkeypatch.setattr(report, "MOST_KEYS", 2)
        found = slices(session, run.id, run.collection_id)["host"]
        assert [row["is_rest"] for row in found] == [False, False, True]
        assert sum(row["pairs"] for row in found) == 41
        tally = report.Tally()
        for name in ("a", "b", "b", "c", "c"):
            tally.add(name, is_flagged=name == "c")
        assert counts(tally.listed(0.0, most=1)) == {"b": (2, 0), "other": (3, 2)}

    def test_a_run_without_scores_has_empty_slices(self, session: Session) -> None:
        nothing = publish_run(session, make_collection(session, 2), {})
        found = slices(session, nothing.id, nothing.collection_id)
        assert (found["overall"]["pairs"], found["overall"]["rate"], found["host"]) == (0, 0.0, [])


class TestExtremes:
    def test_both_ends_in_order(self, session: Session, run: Run) -> None:
        found = extremes(session, run.id, run.collection_id)
        assert [pair["row"] for pair in found["least_trusted"][:10]] == [1, 2, 3, 4, 5, 6, 7, 8, 9, 11]
        assert [pair["row"] for pair in found["most_trusted"][:3]] == [10, 40, 39]
        assert {len(found["most_trusted"]), len(found["least_trusted"])} == {20}
        pair = found["least_trusted"][0]
        assert (pair["url"], pair["caption"], pair["label"]) == (LINES[0].url, LINES[0].caption, "dog")
        assert pair["clean_confidence"] == pytest.approx(0.01)
        assert len(pair["uid"]) == 32

    def test_pairs_that_a_person_judged_are_left_out(self, session: Session) -> None:
        """Row 6 repeats row 1. Being unsure is no verdict, and another collection's has nothing to do with this one."""
        lines = [Line(f"http://127.0.0.1/{name}.png", f"caption {name}") for name in "abcdea"]
        confidences = {1: 0.0, 2: 1.0, 3: 0.1, 4: 0.9, 5: 0.5, 6: 0.0}
        run = publish_run(session, make_collection(session, lines), confidences)
        other = publish_run(session, make_collection(session, lines), confidences)
        say(session, run, {1: Verdict.MISMATCH, 2: Verdict.MATCH, 3: Verdict.UNSURE})
        say(session, other, {4: Verdict.MATCH, 5: Verdict.MISMATCH})
        found = extremes(session, run.id, run.collection_id)
        assert [pair["row"] for pair in found["least_trusted"]] == [3, 5, 4]
        assert [pair["row"] for pair in found["most_trusted"]] == [4, 5, 3]

    def test_ends_are_filled_up_behind_what_a_person_judged(self, session: Session, run: Run) -> None:
        say(session, run, dict.fromkeys(range(1, 6), Verdict.MISMATCH) | dict.fromkeys(range(36, 41), Verdict.MATCH))
        found = extremes(session, run.id, run.collection_id)
        assert [pair["row"] for pair in found["least_trusted"][:5]] == [6, 7, 8, 9, 11]
        assert [pair["row"] for pair in found["most_trusted"][:3]] == [10, 35, 34]
        assert {len(found["most_trusted"]), len(found["least_trusted"])} == {20}

    def test_long_texts_are_cut(self, session: Session) -> None:
        line = Line("http://127.0.0.1/" + "u" * 5000, "c" * 5000, label="l" * 5000)
        run = publish_run(session, make_collection(session, [line]), {1: 0.4})
        pair = extremes(session, run.id, run.collection_id)["most_trusted"][0]
        assert (len(pair["url"]), len(pair["caption"]), len(pair["label"])) == (1000, 500, 200)
        assert pair["caption"].endswith("c…")


class TestBuildReport:
    def test_holds_what_the_contract_names_and_can_be_stored(self, session: Session, run: Run) -> None:
        described = {"histograms": {"loss": None}, "agreement": {"correlation": 0.5}}
        built = build_report(session, run.id, run.collection_id, None, described, {"method": "crcl"})
        assert set(built) == {"calibration", "histograms", "agreement", "slices", "extremes", "recipe"}
        run.report = built
        session.flush()
        session.expire(run)
        assert run.report == json.loads(json.dumps(built))


class TestWilson:
    def test_by_hand(self) -> None:
        """9 of 10: z² = 3.8415, centre (.9 + .19207) / 1.38415, reach z·sqrt((.09 + .09604) / 10) / 1.38415."""
        assert wilson(9, 10) == (pytest.approx(0.5958, abs=1e-4), pytest.approx(0.9821, abs=1e-4))

    @pytest.mark.parametrize(("hits", "count", "end"), [(0, 7, 0), (7, 7, 1)])
    def test_stays_within_0_and_1(self, hits: int, count: int, end: int) -> None:
        assert wilson(hits, count)[end] == pytest.approx(end, abs=1e-12)

    def test_nothing_counted_says_nothing(self) -> None:
        assert wilson(0, 0) == (0.0, 1.0)


class TestHostOf:
    @pytest.mark.parametrize(
        ("url", "host"),
        [
            ("https://Example.COM/a/b.jpg", "example.com"),
            ("http://user:secret@example.com:81?q=http://other.example/", "example.com"),
            ("http://[2001:db8::1]:80/x", "2001:db8::1"),
            ("http://[broken/x", "broken"),
            ("http://example.com\\@evil.example/", "example.com"),
            ("images/1.png", "(no host)"),
            ("file:///images/1.png", "(no host)"),
            ("http://" + "a" * 5000, "a" * 200),
        ],
    )
    def test_is_the_host_alone(self, url: str, host: str) -> None:
        assert host_of(url) == host


class TestWordBin:
    @pytest.mark.parametrize(
        ("words", "name"), [(1, "1–2"), (2, "1–2"), (3, "3–4"), (59, "30–59"), (60, "60 and more")]
    )
    def test_bounds_belong_to_the_bin_they_name(self, words: int, name: str) -> None:
        assert word_bin("word " * words) == name
