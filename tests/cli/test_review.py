"""`pairsift review` against a real service; most of it in this process, keys and browser in processes of their own."""

import json
import os
import pty
import subprocess
import sys
import termios
from collections.abc import Callable
from pathlib import Path
from typing import Any

import httpx2 as httpx
import pytest
from sqlalchemy import Engine
from typer.testing import CliRunner, Result

from cli.main import app
from cli.review import safe
from service.config import Settings, child_environment
from service.db.session import transaction
from service.db.tables import Run
from tests.conftest import ROOT
from tests.factories import Line, make_collection, publish_run, workspace_of
from tests.service.serving import eventually

HOSTILE = "\x1b]0;owned\x07a \x1b[2Jdog\u202e \x9b31m[red]"
URLS = ["http://127.0.0.1/1.png", "file:///etc/passwd", *(f"http://127.0.0.1/{row}.png" for row in range(3, 7))]
LINES = [Line(url, HOSTILE if row == 1 else f"caption {row}") for row, url in enumerate(URLS, start=1)]
# From the cut outwards, the sides taking turns: rows 1 to 6.
CONFIDENCES = {1: 0.51, 2: 0.49, 3: 0.7, 4: 0.3, 5: 0.9, 6: 0.1}

Pairsift = Callable[..., Result]


@pytest.fixture
def run(http: httpx.Client, engine: Engine) -> Run:
    with transaction(engine) as session:
        collection = make_collection(session, LINES, workspace_id=workspace_of(session, http))
        return publish_run(session, collection, CONFIDENCES)


@pytest.fixture
def uids(http: httpx.Client, run: Run) -> list[str]:
    """By row; the first stands for nothing."""
    return ["", *(item["uid"] for item in http.get(f"/v1/runs/{run.id}/pairs").json()["items"])]


@pytest.fixture
def pairsift(http: httpx.Client, run: Run, monkeypatch: pytest.MonkeyPatch) -> Pairsift:
    monkeypatch.setenv("PAIRSIFT_URL", str(http.base_url))
    monkeypatch.setenv("PAIRSIFT_KEY", http.headers["Authorization"].removeprefix("Bearer "))

    def review(*options: object, said: str = "") -> Result:
        return CliRunner().invoke(app, ["review", str(run.id), *map(str, options)], input=said)

    return review


def verdicts(http: httpx.Client, run: Run) -> dict[str, str]:
    items = http.get(f"/v1/collections/{run.collection_id}/reviews").json()["items"]
    return {item["uid"]: item["verdict"] for item in items}


class TestLoop:
    def test_letters_become_verdicts_until_quit(
        self, pairsift: Pairsift, http: httpx.Client, run: Run, uids: list[str]
    ) -> None:
        done = pairsift("--reason", "near_cut", said="m\nx\ns\nU\nq\nm\n")
        assert done.exit_code == 0, done.output
        assert verdicts(http, run) == {uids[1]: "match", uids[2]: "mismatch", uids[4]: "unsure"}
        assert "1/6" in done.stderr
        assert "5/6" in done.stderr
        assert "3 reviews stored" in done.stdout
        assert http.get(f"/v1/runs/{run.id}/pairs/{uids[1]}/review").json()["reason"] == "near_cut"

    def test_end_of_input_ends_it_with_the_estimate(self, pairsift: Pairsift, http: httpx.Client, run: Run) -> None:
        done = pairsift("--reason", "audit", "--limit", 2, "--reviewer", "Ada", "--json", said="m\n")
        assert done.exit_code == 0, done.output
        result = json.loads(done.stdout)
        assert (result["stored"], result["estimate"]["audits"]) == (1, 1)
        [review] = http.get(f"/v1/collections/{run.collection_id}/reviews").json()["items"]
        assert (review["reviewer"], review["reason"]) == ("Ada", "audit")

    def test_another_letter_is_asked_again(
        self, pairsift: Pairsift, http: httpx.Client, run: Run, uids: list[str]
    ) -> None:
        done = pairsift("--reason", "near_cut", "--limit", 1, said="k\n\nx\n")
        assert "'k' is none of these" in done.stderr
        assert verdicts(http, run) == {uids[1]: "mismatch"}

    def test_nothing_left_is_said(self, pairsift: Pairsift) -> None:
        pairsift(said="m\n" * 6)
        done = pairsift()
        assert (done.exit_code, "nothing left to review" in done.stderr) == (0, True)

    def test_hostile_captions_do_not_reach_the_terminal(self, pairsift: Pairsift) -> None:
        for done in (pairsift("--plan"), pairsift("--plan", "--json"), pairsift(said="q\n")):
            assert not set(done.output) & set("\x1b\x07\x9b\u202e")
        assert "dog" in pairsift("--plan").stdout
        assert "[red]" in pairsift("--plan").stdout


class TestKeys:
    def test_terminal_takes_single_keys(
        self, http: httpx.Client, run: Run, uids: list[str], settings: Settings
    ) -> None:
        """No line ends are sent: a key alone is the answer."""
        ours, theirs = pty.openpty()
        command = [sys.executable, "-m", "cli.main", "review", str(run.id), "--reason", "near_cut"]
        environment = called(settings, http)
        with subprocess.Popen(
            command, cwd=ROOT, env=environment, stdin=theirs, stdout=subprocess.PIPE, stderr=subprocess.PIPE
        ) as child:
            asked = (line for line in child.stderr or () if line.startswith(b"m match"))
            for key in (b"x", b"m", b"q"):
                next(asked)
                # What is typed before the terminal is in raw mode is lost.
                eventually(lambda: not termios.tcgetattr(theirs)[3] & termios.ICANON)
                os.write(ours, key)
            out = child.communicate(timeout=60)[0]
        os.close(ours)
        os.close(theirs)
        assert (child.returncode, b"2 reviews stored" in out) == (0, True)
        assert verdicts(http, run) == {uids[1]: "mismatch", uids[2]: "match"}


class TestOpen:
    def test_only_web_addresses_are_opened(
        self, http: httpx.Client, run: Run, settings: Settings, tmp_path: Path
    ) -> None:
        """The browser writes down what it was given. The second URL is a `file:` one."""
        browser, opened = tmp_path / "browser", tmp_path / "opened"
        browser.write_text(f'#!/bin/sh\necho "$1" >> {opened}\n')
        browser.chmod(0o755)
        command = [sys.executable, "-m", "cli.main", "review", str(run.id), "--reason", "near_cut", "--limit", "2"]
        environment = {**called(settings, http), "BROWSER": str(browser)}
        done = subprocess.run(
            command, cwd=ROOT, env=environment, input="o\ns\no\nq\n", capture_output=True, text=True, check=True
        )
        assert opened.read_text() == "http://127.0.0.1/1.png\n"
        assert "only http and https" in done.stderr


class TestPlan:
    def test_items_are_printed_with_their_reason(self, pairsift: Pairsift, uids: list[str]) -> None:
        done = pairsift("--plan", "--reason", "near_cut")
        assert done.exit_code == 0, done.output
        assert f"{uids[2]}  near_cut: Its confidence of 0.490 is close to the cut at 0.500." in done.stdout

    def test_json_is_the_services_plan(self, pairsift: Pairsift) -> None:
        items = json.loads(pairsift("--plan", "--limit", 4, "--json").stdout)["items"]
        assert [item["reason"] for item in items] == ["audit", "audit", "disagreement", "near_cut"]


class TestEstimate:
    def test_measures_are_printed_with_intervals(self, pairsift: Pairsift) -> None:
        pairsift("--reason", "audit", said="m\n" * 6)
        done = pairsift("--estimate")
        assert done.exit_code == 0, done.output
        assert "precision         100.0%  (29.2% to 100.0%; 3 of 3)" in done.stdout
        assert "recall             50.0%" in done.stdout
        assert "6 pairs drawn by chance" in done.stdout


@pytest.fixture
def stored(tmp_path: Path, pairsift: Pairsift) -> Callable[..., Result]:
    def store(text: str | bytes, name: str = "reviews.tsv", *options: str) -> Result:
        (tmp_path / name).write_bytes(text if isinstance(text, bytes) else text.encode())
        return pairsift("--import", tmp_path / name, *options)

    return store


class TestImport:
    def test_tsv_with_and_without_a_header(
        self, stored: Callable[..., Result], http: httpx.Client, run: Run, uids: list[str]
    ) -> None:
        done = stored(f"{uids[1]}\tmatch\tsharp\n\n{uids[2]}\tmismatch\r\n")
        assert done.exit_code == 0, done.output
        assert "2 reviews stored" in done.stdout
        done = stored(f"uid\treason\tverdict\n{uids[2]}\taudit\tunsure\n{uids[3]}\taudit\tmatch", "more.txt", "--json")
        assert json.loads(done.stdout)["stored"] == 2
        assert json.loads(done.stdout)["estimate"]["unsure"] == 1
        assert verdicts(http, run) == {uids[1]: "match", uids[2]: "unsure", uids[3]: "match"}
        assert http.get(f"/v1/runs/{run.id}/pairs/{uids[1]}/review").json()["note"] == "sharp"

    def test_jsonl(self, stored: Callable[..., Result], http: httpx.Client, run: Run, uids: list[str]) -> None:
        lines = [{"uid": uids[1], "verdict": "match", "note": "a\tb"}, {"uid": uids[2], "verdict": "mismatch"}]
        done = stored("".join(f"{json.dumps(line)}\n" for line in lines), "reviews.jsonl", "--reviewer", "Ada")
        assert done.exit_code == 0, done.output
        assert verdicts(http, run) == {uids[1]: "match", uids[2]: "mismatch"}
        assert http.get(f"/v1/runs/{run.id}/pairs/{uids[2]}/review").json()["reviewer"] == "Ada"

    def test_items_of_the_plan_count_as_audits_once_they_have_a_verdict(
        self, stored: Callable[..., Result], pairsift: Pairsift, http: httpx.Client, run: Run
    ) -> None:
        items = json.loads(pairsift("--plan", "--reason", "audit", "--json").stdout)["items"]
        judged = [item | {"verdict": "match", "note": "sharp"} for item in items[:4]]
        done = stored("".join(f"{json.dumps(item)}\n" for item in judged), "plan.jsonl", "--json")
        assert done.exit_code == 0, done.output
        assert json.loads(done.stdout)["stored"] == json.loads(done.stdout)["estimate"]["audits"] == 4
        said = http.get(f"/v1/collections/{run.collection_id}/reviews").json()["items"]
        assert {(item["reason"], item["note"]) for item in said} == {("audit", "sharp")}

    @pytest.mark.parametrize(
        ("name", "wrong", "told"),
        [
            ("r.tsv", "{other}\tyes", "line 2, verdict: Input should be 'match', 'mismatch' or 'unsure'"),
            ("r.tsv", "nothing\tmatch", "line 2, uid: String should match pattern"),
            ("r.tsv", "{other}", "line 2, verdict: Field required"),
            ("r.tsv", "{other}\tmatch\tnote\tmore", "line 2, 4 columns, expected uid, verdict, note"),
            ("r.tsv", "{same}\tmismatch", "line 2, uid: line 1 has the same pair"),
            ("r.tsv", "00000000000000000000000000000000\tmatch", "line 2, uid: is no pair of this collection"),
            ("r.tsv", b"\xff\xfe", "line 2, no UTF-8 at byte 0"),
            ("r.tsv", "x" * 70_000, "line 2, longer than 65,536 bytes"),
            ("r.jsonl", "{{", "line 2, no JSON"),
            ("r.jsonl", "[" * 50_000, "line 2, no JSON"),
            ("r.jsonl", "[]", "line 2, a JSON object with uid and verdict is expected"),
            (
                "r.jsonl",
                '{"uid": "{other}", "row": 2, "why": "", "reason": "audit"}',
                "line 2, verdict: Field required",
            ),
            ("r.jsonl", '{"uid": "{other}", "verdict": "match", "row": 2, "colour": "red"}', "line 2, colour: Extra"),
        ],
    )
    def test_one_wrong_line_is_named_and_nothing_is_stored(
        self, stored: Callable[..., Result], http: httpx.Client, run: Run, uids: list[str], name: str,
        wrong: Any, told: str,
    ) -> None:  # fmt: skip
        good = f"{uids[1]}\tmatch" if name == "r.tsv" else json.dumps({"uid": uids[1], "verdict": "match"})
        if isinstance(wrong, str):
            wrong = wrong.replace("{other}", uids[2]).replace("{same}", uids[1].upper()).encode()
        done = stored(f"{good}\n".encode() + wrong, name)
        assert done.exit_code == 1
        assert told in str(done.exception)
        assert "nothing was stored" in str(done.exception)
        assert verdicts(http, run) == {}

    def test_error_far_down_stores_nothing_of_what_came_before(
        self, pairsift: Pairsift, http: httpx.Client, engine: Engine, tmp_path: Path
    ) -> None:
        """More lines than one call takes."""
        with transaction(engine) as session:
            collection = make_collection(session, 200, workspace_id=workspace_of(session, http))
            run = publish_run(session, collection, dict.fromkeys(range(1, 201), 0.5))
        uids = [item["uid"] for item in http.get(f"/v1/runs/{run.id}/pairs?limit=200").json()["items"]]
        path = tmp_path / "many.tsv"
        path.write_text("".join(f"{uid}\tmatch\n" for uid in [*uids, "0" * 32]))
        refused = CliRunner().invoke(app, ["review", str(run.id), "--import", str(path)])
        assert "line 201, uid: is no pair of this collection" in str(refused.exception)
        assert verdicts(http, run) == {}
        path.write_text("".join(f"{uid}\tmatch\n" for uid in uids))
        done = CliRunner().invoke(app, ["review", str(run.id), "--import", str(path)])
        assert "200 reviews stored" in done.stdout
        assert http.get(f"/v1/runs/{run.id}/review-plan").json() == {"items": []}

    def test_empty_file_is_said_so(self, stored: Callable[..., Result]) -> None:
        assert "there is no review in it" in str(stored("uid\tverdict\n").exception)


class TestOptions:
    def test_help_of_import_names_all_that_a_review_has(self, pairsift: Pairsift) -> None:
        told = " ".join(pairsift("--help").stdout.replace("│", " ").split())
        assert "uid, verdict, note, reason" in told

    def test_two_ways_at_once_are_wrong_use(self, pairsift: Pairsift) -> None:
        done = pairsift("--plan", "--estimate")
        assert (done.exit_code, "give one of --plan" in done.stderr) == (2, True)

    def test_unknown_reason_is_wrong_use(self, pairsift: Pairsift) -> None:
        assert pairsift("--reason", "chosen").exit_code == 2


class TestSafe:
    def test_long_text_is_cut(self) -> None:
        assert safe("x" * 5_000) == "x" * 1_000 + "…"

    def test_line_ends_and_control_characters_are_replaced(self) -> None:
        assert safe("a\nb\x1b[0m\u202e") == "a\ufffdb\ufffd[0m\ufffd"


def called(settings: Settings, http: httpx.Client) -> dict[str, str]:
    key = http.headers["Authorization"].removeprefix("Bearer ")
    return child_environment(settings.model_copy(update={"url": str(http.base_url), "key": key}))
