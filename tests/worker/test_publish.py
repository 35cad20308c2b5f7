"""Binary COPY rows, read back through PostgreSQL itself; the file that holds scores until then."""

import tracemalloc
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any
from uuid import UUID, uuid4

import numpy as np
import pytest
from sqlalchemy import Engine, Row, text

from model.engine import Scores
from service.db.session import transaction
from tests.factories import make_collection
from worker.stages.publish import against_truth
from worker.stages.publish_rows import COLUMNS, COPY_HEADER, COPY_TRAILER, FLOATS, Eme, binary_rows
from worker.stages.results import load_scores, save_scores

ROWS = np.arange(5, 1005, dtype=np.int64)
NAMES = ["cat", "dog", "a longer name", "🐕", "שלום"]


def scores(count: int) -> Scores:
    rng = np.random.default_rng(0)
    floats: dict[str, Any] = {name: rng.random(count).astype(np.float32) for name in FLOATS}
    return Scores(**floats, is_clean=floats["clean_confidence"] > 0.5, noise_rate=0.3, threshold=0.5)


def labelled_scores(count: int) -> Scores:
    rng = np.random.default_rng(1)
    return replace(
        scores(count),
        label_confidence=rng.random(count).astype(np.float32),
        predicted_label=rng.integers(0, len(NAMES), count),
    )


def copied(
    engine: Engine, run_id: UUID, given: Scores, names: Sequence[str] | None = None, eme: Eme | None = None
) -> list[Row[Any]]:
    with engine.begin() as connection:
        connection.execute(text("CREATE TEMP TABLE copied (LIKE scores) ON COMMIT DROP"))
        cursor = connection.connection.cursor()
        with cursor.copy(f"COPY copied ({', '.join(COLUMNS)}) FROM STDIN (FORMAT BINARY)") as copy:
            copy.write(COPY_HEADER)
            copy.write(binary_rows(run_id, ROWS, given, slice(0, 600), names, eme))
            copy.write(binary_rows(run_id, ROWS, given, slice(600, 1200), names, eme))
            copy.write(COPY_TRAILER)
        return list(connection.execute(text("SELECT * FROM copied ORDER BY row")).all())


def column(found: list[Row[Any]], name: str) -> np.ndarray:
    return np.array([getattr(line, name) for line in found], np.float32)


class TestBinaryRows:
    def test_postgres_reads_back_what_was_meant(self, quiet_engine: Engine) -> None:
        given, run_id = scores(1000), uuid4()
        found = copied(quiet_engine, run_id, given)
        assert [line.row for line in found] == ROWS.tolist()
        assert {line.run_id for line in found} == {run_id}
        assert [line.is_clean for line in found] == given.is_clean.tolist()
        for name in FLOATS:
            assert np.array_equal(column(found, name), getattr(given, name))
        assert {(line.uncertainty, line.label_confidence, line.predicted_label) for line in found} == {(None,) * 3}

    def test_labels_of_every_length_arrive_with_their_rows(self, quiet_engine: Engine) -> None:
        given = labelled_scores(1000)
        assert given.label_confidence is not None
        assert given.predicted_label is not None
        found = copied(quiet_engine, uuid4(), given, NAMES)
        assert [line.row for line in found] == ROWS.tolist()
        assert [line.predicted_label for line in found] == [NAMES[number] for number in given.predicted_label]
        assert np.array_equal(column(found, "label_confidence"), given.label_confidence)
        assert np.array_equal(column(found, "similarity"), given.similarity)
        assert {line.uncertainty for line in found} == {None}

    def test_uncertainty_arrives(self, quiet_engine: Engine) -> None:
        given = replace(scores(1000), uncertainty=np.linspace(0, 1, 1000, dtype=np.float32))
        assert given.uncertainty is not None
        found = copied(quiet_engine, uuid4(), given)
        assert np.array_equal(column(found, "uncertainty"), given.uncertainty)
        assert {line.label_confidence for line in found} == {None}

    def test_what_only_some_runs_have_arrives(self, quiet_engine: Engine) -> None:
        given = replace(scores(1000), weight=np.linspace(0, 2, 1000, dtype=np.float32))
        assert given.weight is not None
        found = copied(quiet_engine, uuid4(), given)
        assert np.array_equal(column(found, "weight"), given.weight)
        assert {(line.neighbour_agreement, line.clip_similarity) for line in found} == {(None, None)}

    def test_rows_without_elements_have_no_score_of_them(self, quiet_engine: Engine) -> None:
        hard = np.linspace(0, 1, 1000, dtype=np.float32)
        hard[::7] = np.nan
        eme = {"eme": hard, "eme_soft": hard / 2}
        for given, names in ((scores(1000), None), (labelled_scores(1000), NAMES)):
            found = copied(quiet_engine, uuid4(), given, names, eme)
            assert [line.row for line in found] == ROWS.tolist()
            assert [line.eme is None for line in found] == [line.eme_soft is None for line in found]
            assert np.array_equal(column(found, "eme"), hard, equal_nan=True)
            assert np.array_equal(column(found, "eme_soft"), hard / 2, equal_nan=True)
            assert np.array_equal(column(found, "similarity"), given.similarity)


class TestAgainstTruth:
    COUNT = 60_000

    @pytest.fixture(scope="class")
    @classmethod
    def collection_id(cls, quiet_engine: Engine) -> UUID:
        """Every fourth pair is a mismatch, of every tenth nothing is known."""
        with transaction(quiet_engine) as session:
            collection = make_collection(session)
            filled = text(
                "INSERT INTO pairs (collection_id, row, uid, url, caption, is_match) "
                "SELECT :id, row, gen_random_uuid(), 'u', 'c', CASE WHEN row % 10 = 0 THEN NULL ELSE row % 4 > 0 END "
                "FROM generate_series(1, :count) AS row"
            )
            session.execute(filled, {"id": collection.id, "count": cls.COUNT})
            return collection.id

    def test_pairs_whose_truth_is_known_are_counted(self, quiet_engine: Engine, collection_id: UUID) -> None:
        """Of rows 1 to 1,000 every tenth is unknown; all that are divisible by four are flagged, and rightly so."""
        rows = np.arange(1, 1001)
        given = replace(scores(1000), is_clean=rows % 4 > 0, clean_confidence=np.float32(rows % 4 > 0))
        with transaction(quiet_engine) as session:
            found = against_truth(session, collection_id, rows, given)
        assert found is not None
        assert (found["pairs"], found["noise_rate"]) == (900, round(200 / 900, 4))
        assert (found["auroc"], found["precision"], found["recall"], found["f1"]) == (1, 1, 1, 1)

    def test_nothing_is_said_where_nothing_is_known(self, quiet_engine: Engine) -> None:
        with transaction(quiet_engine) as session:
            assert against_truth(session, make_collection(session, 3).id, np.arange(1, 4), scores(3)) is None

    def test_rows_are_not_all_held_as_objects(self, quiet_engine: Engine, collection_id: UUID) -> None:
        """As objects the 54,000 rows take about 10 MB, as numbers 1."""
        with transaction(quiet_engine) as session:
            tracemalloc.start()
            try:
                against_truth(session, collection_id, np.arange(1, 11), scores(10))
                most = tracemalloc.get_traced_memory()[1]
            finally:
                tracemalloc.stop()
        assert most < 6_000_000


class TestSaveScores:
    def test_loaded_scores_are_the_saved_ones(self, tmp_path: Path) -> None:
        for given in (scores(10), labelled_scores(10)):
            save_scores(tmp_path, ROWS[:10], given)
            rows, loaded = load_scores(tmp_path)
            assert rows.tolist() == ROWS[:10].tolist()
            for name, value in vars(given).items():
                np.testing.assert_array_equal(getattr(loaded, name), value, err_msg=name)
