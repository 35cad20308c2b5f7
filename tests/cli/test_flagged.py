"""`pairsift flagged`: what it prints of a pair, and as a user meets it."""

import json
from uuid import uuid4

import pytest
from sqlalchemy import Engine, select
from typer.testing import CliRunner

from cli.flagged import DEPICTED, MISSING, described
from cli.main import app
from service.config import Settings, child_environment
from service.db.session import transaction
from service.db.states import Scope, Split
from service.db.tables import Explanation, Review, Run, Workspace
from service.db.tables import Pair as PairRow
from service.schemas import Pair
from service.schemas_explanations import Elements
from tests.conftest import make_key
from tests.factories import Line, make_collection, publish_run

CAPTION = "a red [bold] ball on\x1b[31m the beach"
ELEMENTS = {
    "caption": [
        ["red ball", 2, 17, 0.1, False, "colour", True],
        ["beach", 30, 35, 0.9, True, None, True],
    ],
    "image": [
        ["blue ball", 0.9, 0.4, False, "concept"],
        ["beach", 0.9, 1.0, True, "concept"],
        ["kite", 0.8, 0.0, False, "detector"],
    ],
}
REPAIR = {"captions": [[3, 0.8, 0.75]], "images": []}


@pytest.fixture(scope="module")
def run(engine: Engine) -> Run:
    content = [
        Line(f"http://127.0.0.1/{row}.png", text) for row, text in ((1, "fine"), (2, CAPTION), (3, "a blue ball"))
    ]
    with transaction(engine) as session:
        run = publish_run(session, make_collection(session, content), {1: 0.9, 2: 0.1, 3: 0.2})
        session.add(Explanation(run_id=run.id, row=2, elements=ELEMENTS, repair=REPAIR))
        return run


@pytest.fixture
def reader(engine: Engine, settings: Settings, service_url: str, run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    with transaction(engine) as session:
        key = make_key(engine, Scope.READ, session.get_one(Workspace, run.workspace_id).name)
    environment = child_environment(settings.model_copy(update={"url": service_url, "key": key}))
    for name in ("PAIRSIFT_URL", "PAIRSIFT_KEY"):
        monkeypatch.setenv(name, environment[name])


def pair() -> Pair:
    claimed = [
        {"text": "ball", "lemma": "ball", "start": 2, "end": 6, "probability": 0, "is_depicted": False},
        {"text": "dog", "lemma": "dog", "start": 11, "end": 14, "probability": 1, "is_depicted": True},
        {
            "text": "zax",
            "lemma": "zax",
            "start": 19,
            "end": 22,
            "probability": 0,
            "is_depicted": False,
            "is_known": False,
        },
    ]
    return Pair(
        uid=uuid4().hex,
        row=7,
        url="http://127.0.0.1/7.png",
        caption="a ball, a [dog] or zax",
        status="success",
        split=Split.NOISY,
        clean_confidence=0.1,
        confidence_a=0.1,
        confidence_b=0.1,
        rectified_correspondence=0.1,
        elements=Elements.model_validate({"caption": claimed, "image": []}),
    )


class TestDescribed:
    def test_missing_elements_are_red_and_depicted_ones_green(self) -> None:
        shown = described(pair(), is_plain=False)
        styles = {shown.plain[span.start : span.end]: span.style for span in shown.spans}
        assert (styles["ball"], styles["dog"]) == (MISSING, DEPICTED)
        assert "zax" not in styles
        assert "a ball, a [dog] or zax" in shown.plain

    def test_signs_stand_in_for_colours(self) -> None:
        assert "a [-ball-], a [[+dog+]] or zax" in described(pair(), is_plain=True).plain

    def test_a_pair_without_an_explanation_is_its_caption(self) -> None:
        shown = described(pair().model_copy(update={"elements": None}), is_plain=True).plain
        assert shown.splitlines()[1:] == ["  a ball, a [dog] or zax", "  http://127.0.0.1/7.png"]


@pytest.mark.usefixtures("reader")
class TestFlagged:
    def test_prints_the_worst_first_with_reasons_and_the_best_suggestion(self, run: Run) -> None:
        done = CliRunner().invoke(app, ["flagged", str(run.id)])
        assert done.exit_code == 0, done.output
        said = done.stdout
        assert "fine" not in said
        assert said.index("row 2") < said.index("row 3")
        assert "a [-red [bold] ball-] on\ufffd[31m the [+beach+]" in said
        assert "wrong: red [bold] ball (colour)" in said
        assert "the image shows: blue ball, kite\n" in said
        assert "may fit (75%, row 3): a blue ball" in said
        assert "\x1b" not in said

    def test_limit_and_json_give_pairs_as_the_api_does(self, run: Run) -> None:
        done = CliRunner().invoke(app, ["flagged", str(run.id), "--limit", "1", "--json"])
        (found,) = json.loads(done.stdout)
        assert (found["row"], found["caption"]) == (2, CAPTION)
        assert found["elements"]["caption"][0]["wrong"] == "colour"
        assert [one["source"] for one in found["elements"]["image"]] == ["concept", "concept", "detector"]
        assert found["repair"]["captions"][0]["caption"] == "a blue ball"

    def test_what_a_person_judged_is_left_out_unless_asked_for(self, engine: Engine, run: Run) -> None:
        with transaction(engine) as session:
            uid = session.scalar(
                select(PairRow.uid).where(PairRow.collection_id == run.collection_id, PairRow.row == 2)
            )
            said = Review(
                collection_id=run.collection_id, uid=uid, verdict="mismatch", reason="chosen", reviewer="somebody"
            )
            session.add(said)
        try:
            rows = [
                [pair["row"] for pair in json.loads(CliRunner().invoke(app, ["flagged", str(run.id), *more]).stdout)]
                for more in (["--json"], ["--json", "--reviewed"])
            ]
        finally:
            with transaction(engine) as session:
                session.delete(session.merge(said))
        assert rows == [[3], [2, 3]]
