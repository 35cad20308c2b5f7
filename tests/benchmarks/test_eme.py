"""The benchmark of elements: a small collection of scenes from drawing to figures, and how figures meet the bars."""

import pytest

from benchmarks.eme import BARS, DEMO, HARD, Bar, compared
from benchmarks.protocol.elements_demo import demo_figures


class TestDemoFigures:
    def test_the_truth_of_the_scenes_is_compared_with_what_was_found(self) -> None:
        """Far too few to reach the bars, enough to be far from chance where it is easiest."""
        figures = demo_figures(0, pairs=300)
        assert figures["pairs"] == 300
        wanted = [bar.figure for bar in BARS if bar.collection == DEMO]
        shares = {name: figures[name] for name in wanted}
        assert all(value is None or 0 <= value <= 1 for value in shares.values())
        assert (figures["caption_precision"] or 0) > 0.6
        assert (figures["caption_recall"] or 0) > 0.5


class TestCompared:
    def test_the_mean_over_seeds_is_held_against_the_bar(self) -> None:
        measured = [{"collection": DEMO, "seed": seed, "x": value} for seed, value in enumerate([0.7, 0.9, None])]
        found = compared(Bar(DEMO, "x", 0.8), measured)
        assert (found["mean"], found["seeds"], found["is_met"]) == (0.8, 2, True)
        assert not compared(Bar(DEMO, "x", 0.81), measured)["is_met"]

    def test_times_must_stay_below(self) -> None:
        measured = [{"collection": DEMO, "seed": 0, "x": 5.0}]
        assert compared(Bar(DEMO, "x", 6.0, is_most=True), measured)["is_met"]
        assert not compared(Bar(DEMO, "x", 4.0, is_most=True), measured)["is_met"]

    def test_what_was_not_measured_is_not_met(self) -> None:
        assert not compared(Bar(HARD, "x", 0.1), [{"collection": HARD, "seed": 0, "x": None}])["is_met"]

    @pytest.mark.parametrize("bar", BARS, ids=lambda bar: f"{bar.collection} {bar.figure}")
    def test_every_bar_can_fail(self, bar: Bar) -> None:
        assert not bar.is_met(bar.limit + 1 if bar.is_most else bar.limit - 0.01)
