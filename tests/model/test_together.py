"""Work in threads: all done, or all told to end and the first error raised; networks side by side as in turn."""

import threading

import numpy as np
import pytest

from model.engine import Engine, Stopped
from model.together import run_together
from tests.model.cases import config_of, pairs_of


class TestRunTogether:
    def test_every_work_is_done(self) -> None:
        done: list[int] = []
        run_together([lambda _, number=number: done.append(number) for number in range(3)], lambda: None)
        assert sorted(done) == [0, 1, 2]

    def test_error_of_one_ends_the_others_and_is_raised(self) -> None:
        def fail(_: threading.Event) -> None:
            raise ValueError("broken")

        with pytest.raises(ValueError, match="broken"):
            run_together([fail, lambda is_over: is_over.wait() or None], lambda: None)

    def test_error_of_the_watcher_ends_all(self) -> None:
        def watch() -> None:
            raise Stopped

        with pytest.raises(Stopped):
            run_together([lambda is_over: is_over.wait() or None] * 2, watch)


class TestSideBySide:
    @pytest.mark.parametrize("method", ["crcl", "lnc"])
    def test_outcome_is_that_of_learning_in_turn(self, method: str) -> None:
        pairs, config = pairs_of(200), config_of(method)
        found = []
        for is_concurrent in (False, True):
            engine = Engine(pairs, config, is_concurrent=is_concurrent)
            engine.fit()
            found.append(engine.scores())
        np.testing.assert_array_equal(found[0].similarity, found[1].similarity)
        np.testing.assert_array_equal(found[0].clean_confidence, found[1].clean_confidence)
