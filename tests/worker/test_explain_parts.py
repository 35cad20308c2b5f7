"""What the explain stage is made of: the language it reads, the lines it writes, the pairs it looks for partners of."""

from types import SimpleNamespace
from typing import Any
from uuid import uuid4

import numpy as np
import pytest
from sqlalchemy import Engine, text

from model.config import parse_run_config
from model.pairs import Pairs
from service.db.explanations import pack_elements, unpack_elements
from worker.stages import explain_repair
from worker.stages.explain_files import COLUMNS, copy_line
from worker.stages.explain_inputs import Inputs
from worker.stages.explain_language import main_language
from worker.stages.explain_repair import Repairs

COUNT = 80


class TestMainLanguage:
    def test_english_is_read_by_phrases(self) -> None:
        found = main_language(["a red ball on the table", "the dog and a cat", "Hund"])
        assert (found.name, found.share) == ("English", 1.0)
        assert found.read.elements("a red ball")[0].lemma == "red ball"

    def test_another_language_is_read_by_words_and_that_is_said(self) -> None:
        found = main_language(["der Hund und die Katze", "ein Haus mit dem Garten", "a cat on the mat"])
        assert (found.name, found.read.name) == ("German", "content words")
        assert "German" in found.note
        assert "content words" in found.note

    @pytest.mark.parametrize("texts", [[], ["zzz", "123"]])
    def test_english_is_assumed_where_nothing_tells(self, texts: list[str]) -> None:
        assert (main_language(texts).name, main_language(texts).share) == ("English", 0.0)


class TestCopyLine:
    def test_postgres_reads_back_hostile_text(self, quiet_engine: Engine) -> None:
        hostile = 'back\\slash \\N \\. "quoted"\ttab\nline {"} \u2028 🐕'
        element = SimpleNamespace(
            lemma=hostile, start=0, end=4, probability=0.12345, is_depicted=False, wrong=None, is_known=True
        )
        elements, run_id = pack_elements([element], []), uuid4()
        repair = {"captions": [[1, 0.5, 0.25]], "images": []}
        with quiet_engine.begin() as connection:
            connection.execute(text("CREATE TEMP TABLE copied (LIKE explanations) ON COMMIT DROP"))
            with connection.connection.cursor().copy(f"COPY copied ({', '.join(COLUMNS)}) FROM STDIN") as copy:
                copy.write(copy_line(run_id, 7, elements, repair))
                copy.write(copy_line(run_id, 8, elements, None))
            found = connection.execute(text("SELECT * FROM copied ORDER BY row")).all()
        assert [tuple(line) for line in found] == [(run_id, 7, elements, repair), (run_id, 8, elements, None)]
        back = unpack_elements(found[0].elements, "back yard")
        assert back is not None
        assert back["caption"][0] | {"probability": 0} == vars(element) | {"text": "back", "probability": 0}
        assert back["caption"][0]["probability"] == 0.123


def inputs(**changes: Any) -> Inputs:
    """Pairs that match, apart from the first twenty, whose captions are each other's."""
    rng = np.random.default_rng(0)
    images = rng.normal(size=(COUNT, 16)).astype(np.float32)
    captions = images.copy()
    captions[:20] = captions[19::-1]
    is_flagged = np.arange(COUNT) < 20
    confidence = np.where(is_flagged, np.arange(COUNT) / 100, 0.9).astype(np.float32)
    pairs = Pairs(images, captions, np.arange(COUNT), np.arange(COUNT))
    given: dict[str, Any] = {"vectors": (images, captions), "encode_texts": None, "config": parse_run_config({})}
    given |= {"rows": np.arange(COUNT) * 2 + 1, "pairs": pairs, "confidence": confidence, "is_flagged": is_flagged}
    return Inputs(**given | changes)


class TestRepairs:
    def test_suggestions_are_named_by_their_rows(self) -> None:
        given = inputs()
        found = Repairs(given, lambda message: None)
        assert (found.flagged, found.searched) == (20, 20)
        repair = found.of(3)
        assert repair is not None
        assert repair["captions"][0][:2] == repair["images"][0][:2] == [given.rows[16], 1.0]
        assert found.of(20) is None

    def test_the_least_trusted_come_first_where_there_are_too_many(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(explain_repair, "MOST_REPAIRED", 5)
        found = Repairs(inputs(), lambda message: None)
        assert (found.flagged, found.searched) == (20, 5)
        assert [place for place in range(COUNT) if found.of(place)] == [0, 1, 2, 3, 4]

    @pytest.mark.parametrize("changes", [{"vectors": None}, {"is_flagged": np.zeros(COUNT, bool)}])
    def test_nothing_is_looked_for_without_vectors_or_flagged_pairs(self, changes: dict[str, Any]) -> None:
        found = Repairs(inputs(**changes), lambda message: None)
        assert (found.searched, found.likely, found.of(0)) == (0, {"captions": 0, "images": 0}, None)
