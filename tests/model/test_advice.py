"""Trainings that go on from what all evidence says: who is asked when, and what becomes of the answer."""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
import torch

from model.config import CRCLConfig, RunConfig
from model.engine import Adviser, Engine, Pairs, Progress, Scores, Stopped, TrainingError
from model.metrics import auroc
from model.probes import make_probes, with_probes
from model.trust import advise, adviser, correlation_of, judge
from tests.model.cases import config_of
from tests.model.collections import make_pairs
from tests.model.test_engine import Clock, assert_same

COUNT = 300
CONFIG = config_of("crcl", {"piece_epochs": (1, 1, 1), "freeze_epochs": 1, "advice_every": 1}, score_draws=2)


class Sage:
    """An adviser that gives the same answer every time, and remembers when it was asked."""

    def __init__(self, answer: npt.NDArray[np.float64] | None) -> None:
        self.answer = answer
        self.heard: list[Scores] = []

    def __call__(self, engine: Engine, on_progress: Callable[[float], None]) -> npt.NDArray[np.float64] | None:
        self.heard.append(engine.scores())
        on_progress(0.4)
        return self.answer


def with_every(every: int, **options: Any) -> RunConfig:
    assert isinstance(CONFIG.method_options, CRCLConfig)
    return replace(CONFIG, method_options=replace(CONFIG.method_options, advice_every=every, **options))


def fitted(pairs: Pairs, config: RunConfig, asked: Adviser | None) -> Scores:
    engine = Engine(pairs, config, adviser=asked)
    engine.fit()
    return engine.scores()


@pytest.fixture(scope="module")
def pairs() -> Pairs:
    return make_pairs(COUNT, 0.3)[0]


class TestWhenItIsAsked:
    @pytest.mark.parametrize(("every", "times"), [(0, 0), (1, 2), (2, 1), (3, 0)])
    @pytest.mark.parametrize("frozen", [0, 1])
    def test_before_every_so_many_pieces(self, pairs: Pairs, every: int, times: int, frozen: int) -> None:
        sage = Sage(np.full(COUNT, 0.5))
        fitted(pairs, with_every(every, freeze_epochs=frozen), sage)
        assert len(sage.heard) == times

    def test_it_sees_the_networks_as_they_are(self, pairs: Pairs) -> None:
        sage = Sage(None)
        fitted(pairs, CONFIG, sage)
        first, second = sage.heard
        assert not np.array_equal(first.similarity, second.similarity)

    def test_how_far_it_is_is_shown(self, pairs: Pairs) -> None:
        seen: list[Progress] = []
        Engine(pairs, CONFIG, adviser=Sage(None), on_progress=seen.append).fit()
        shown = [progress for progress in seen if progress.phase == "weighing all evidence, 40%"]
        assert len(shown) == 2
        fractions = [progress.fraction for progress in seen]
        assert fractions == sorted(fractions)

    def test_without_an_adviser_the_training_is_the_papers(self, pairs: Pairs) -> None:
        assert_same(fitted(pairs, CONFIG, None), fitted(pairs, with_every(0), None))

    def test_engine_answers_nobody_else_before_it_is_finished(self, pairs: Pairs) -> None:
        def stop(engine: Engine, on_progress: Callable[[float], None]) -> None:
            engine.scores()
            raise Stopped

        engine = Engine(pairs, CONFIG, adviser=stop)
        with pytest.raises(Stopped):
            engine.fit()
        with pytest.raises(TrainingError, match="not finished"):
            engine.scores()

    def test_other_methods_are_never_advised(self, pairs: Pairs) -> None:
        for name in ("ncr", "decl"):
            engine = Engine(pairs, config_of(name), adviser=Sage(None))
            engine._start()
            assert not any(phase.takes_advice for phase, _ in engine._plan)
            with pytest.raises(NotImplementedError, match="takes advice"):
                engine._method.advised(torch.ones(COUNT))


class TestExtraPieces:
    @pytest.mark.parametrize(("matching", "times"), [(0.2, 2), (0.8, 1)])
    def test_only_where_mismatches_prevail(self, pairs: Pairs, matching: float, times: int) -> None:
        sage, seen = Sage(np.full(COUNT, matching)), []
        config = with_every(1, enough_pieces=2)
        engine = Engine(pairs, config, adviser=sage, on_progress=lambda progress: seen.append(progress.phase))
        engine.fit()
        assert len(sage.heard) == times
        assert any("piece 3" in phase for phase in seen[:-1]) == (times == 2)

    def test_none_without_advice(self, pairs: Pairs) -> None:
        two = config_of("crcl", {"piece_epochs": (1, 1), "freeze_epochs": 1}, score_draws=2)
        assert_same(fitted(pairs, with_every(1, enough_pieces=2), None), fitted(pairs, two, None))


class TestWhatBecomesOfIt:
    def test_labels_follow_it(self, pairs: Pairs) -> None:
        answer = np.where(np.arange(COUNT) < COUNT // 2, 0.0, 1.0)
        found = fitted(pairs, with_every(2), Sage(answer)).rectified_correspondence
        assert found[: COUNT // 2].mean() < found[COUNT // 2 :].mean() - 0.2

    def test_no_answer_leaves_the_labels_to_the_method(self, pairs: Pairs) -> None:
        # The survey that the adviser sees moves the labels once more; everything else is as without one.
        found = fitted(pairs, CONFIG, Sage(None)).rectified_correspondence
        assert np.corrcoef(found, fitted(pairs, CONFIG, None).rectified_correspondence)[0, 1] > 0.8

    def test_a_persons_word_is_final(self, pairs: Pairs) -> None:
        anchors = np.zeros(COUNT, np.int8)
        anchors[:10], anchors[10:20] = 1, -1
        sage = Sage(np.where(anchors > 0, 0.0, 1.0))
        found = fitted(replace(pairs, anchors=anchors), CONFIG, sage).rectified_correspondence
        assert (found[:10] == 1).all()
        assert (found[10:20] == 0).all()

    @pytest.mark.parametrize("question", [6, 14, 20, 26])
    def test_stopped_and_resumed_equals_unbroken(self, tmp_path: Path, question: int) -> None:
        pairs, _ = make_pairs(COUNT, 0.3)
        probes = make_probes(pairs, 0.05, 0)
        learned = with_probes(pairs, probes)
        whole = Engine(learned, CONFIG, adviser=adviser(learned, probes))
        whole.fit()
        with pytest.raises(Stopped):
            Engine(learned, CONFIG, tmp_path, should_stop=Clock(question), adviser=adviser(learned, probes)).fit()
        resumed = Engine(learned, CONFIG, tmp_path, adviser=adviser(learned, probes))
        resumed.fit()
        assert_same(resumed.scores(), whole.scores())

    def test_stopped_while_asking_or_after_it_equals_unbroken(self, pairs: Pairs, tmp_path: Path) -> None:
        # Mismatches prevail, so that a resumed training must still know that it needs the third piece.
        config, answer = with_every(1, enough_pieces=2), np.linspace(0.0, 0.4, COUNT)
        unbroken = fitted(pairs, config, Sage(answer))
        for stop_in in ("weighing", "piece 2,", "piece 3"):
            seen: list[str] = [""]
            engine = Engine(
                pairs,
                config,
                tmp_path,
                on_progress=lambda progress, seen=seen: seen.append(progress.phase),  # type: ignore[misc]
                should_stop=lambda seen=seen, stop_in=stop_in: stop_in in seen[-1],  # type: ignore[misc]
                adviser=Sage(answer),
            )
            with pytest.raises(Stopped):
                engine.fit()
        resumed = Engine(pairs, config, tmp_path, adviser=Sage(answer))
        resumed.fit()
        assert_same(resumed.scores(), unbroken)


class TestAdvise:
    def test_pairs_and_probes_get_a_probability(self) -> None:
        pairs, is_mismatch = make_pairs(1000, 0.4)
        probes = make_probes(pairs, 0.05, 0)
        learned = with_probes(pairs, probes)
        engine = Engine(learned, config_of("crcl", {"piece_epochs": (3,)}))
        engine.fit()
        said = advise(engine, learned, probes, correlation_of(learned, probes))
        assert said is not None
        assert said.shape == (len(learned),)
        assert auroc(said[:1000], is_mismatch) > 0.9
        np.testing.assert_allclose(said[:1000], judge(engine, learned, probes).scores.clean_confidence, atol=1e-6)

    def test_without_mismatches_it_says_nothing(self) -> None:
        pairs, _ = make_pairs(1000, 0.0)
        probes = make_probes(pairs, 0.05, 0)
        learned = with_probes(pairs, probes)
        engine = Engine(learned, config_of("crcl", {"piece_epochs": (3, 3)}))
        engine.fit()
        assert advise(engine, learned, probes, correlation_of(learned, probes)) is None

    def test_without_probes_nobody_can_advise(self, pairs: Pairs) -> None:
        assert adviser(pairs, make_probes(pairs, 0.0, 0)) is None
