"""Plots are read back as XML: what is drawn, where, and that no text breaks out."""

from xml.etree import ElementTree

import pytest

from service.report.plots import (
    BOTTOM,
    LEFT,
    RIGHT,
    TOP,
    WIDTH,
    Axes,
    Line,
    bar,
    heat_map,
    histogram,
    line_chart,
    nice_ticks,
    short,
)

HOSTILE = '"><script>&'


def drawn(svg: str, kind: str, style: str) -> list[ElementTree.Element]:
    return [item for item in ElementTree.fromstring(svg).iter(kind) if style in item.get("class", "").split()]


def texts(svg: str) -> list[str]:
    return ["".join(item.itertext()) for item in ElementTree.fromstring(svg).iter("text")]


class TestLineChart:
    def test_line_band_and_mark_stand_where_they_belong(self) -> None:
        """From (0, 0), the lower left corner, to (1, 1), the upper right one; the mark in the middle."""
        axes = Axes("cut", "share")
        line = Line([(0, 0), (1, 1)], "precision", [(0, 0, 0.5), (1, 0.5, 1)])
        svg = line_chart(axes, [line], (0.5, "here"))
        low, right = axes.height - BOTTOM, WIDTH - RIGHT
        assert drawn(svg, "path", "line")[0].get("d") == f"M{LEFT}.0 {low}.0L{right}.0 {TOP}.0"
        assert drawn(svg, "path", "band")[0].get("d", "").count("L") == 3
        assert drawn(svg, "path", "mark")[0].get("d", "").startswith(f"M{(LEFT + right) / 2:.1f} ")
        assert {"cut", "share", "here", "0.2", "1"} <= set(texts(svg))

    def test_what_lies_beyond_the_axes_is_drawn_at_their_end(self) -> None:
        svg = line_chart(Axes("x", "y"), [Line([(-5, -5), (7, 7)], "recall")])
        assert drawn(svg, "path", "line")[0].get("d") == f"M{LEFT}.0 {Axes('x', 'y').height - BOTTOM}.0L468.0 {TOP}.0"

    def test_texts_are_escaped(self) -> None:
        svg = line_chart(Axes(HOSTILE, HOSTILE), [Line([(0, 0)], HOSTILE)], (0.9, HOSTILE))
        assert texts(svg).count(HOSTILE) == 3
        assert "<script" not in svg


class TestHistogram:
    def test_heights_are_the_counts(self) -> None:
        """The full height of the plot is 4; layers of 1 and 3 share it, a bar of 2 takes half."""
        axes = Axes("x", "pairs", (0, 2), (0, 4))
        svg = histogram(axes, [0, 1, 2], [("kept", [1, 2]), ("flagged", [3, 0])])
        full = axes.height - BOTTOM - TOP
        assert [float(item.get("height", 0)) for item in drawn(svg, "rect", "kept")] == pytest.approx(
            [full / 4, full / 2], abs=0.06
        )
        assert float(drawn(svg, "rect", "flagged")[0].get("height", 0)) == pytest.approx(full * 3 / 4, abs=0.06)

    def test_square_root_scale_lifts_small_bars(self) -> None:
        axes = Axes("x", "pairs", (0, 2), (0, 400), is_root=True)
        svg = histogram(axes, [0, 1, 2], [("kept", [100, 400])])
        small, large = (float(item.get("height", 0)) for item in drawn(svg, "rect", "kept"))
        assert small / large == pytest.approx(0.5, abs=0.01)

    def test_empty_bins_draw_nothing(self) -> None:
        assert drawn(histogram(Axes("x", "y"), [0, 1], [("kept", [0])]), "rect", "kept") == []


class TestHeatMap:
    def test_first_index_goes_right_and_second_goes_up(self) -> None:
        axes = Axes("A", "B")
        svg = heat_map(axes, [[0, 0], [9, 0]])
        (cell,) = drawn(svg, "rect", "cell")
        assert float(cell.get("x", 0)) == pytest.approx(axes.x(0.5), abs=0.1)
        assert float(cell.get("y", 0)) == pytest.approx(axes.y(0.5), abs=0.1)
        assert cell.get("fill-opacity") == "1.00"
        assert "".join(cell.itertext()) == "9 pairs"

    def test_no_pairs_draw_nothing(self) -> None:
        assert drawn(heat_map(Axes("A", "B"), [[0]]), "rect", "cell") == []


class TestBar:
    def test_half_of_the_scale_is_half_of_the_width(self) -> None:
        (found,) = drawn(bar(0.2, 0.1, 0.3, 0.4, 0.3, "usual"), "rect", "usual")
        assert float(found.get("width", 0)) == pytest.approx(78)

    def test_nothing_to_scale_by_is_an_empty_bar(self) -> None:
        (found,) = drawn(bar(0.0, 0.0, 0.0, 0.0, 0.0, "usual"), "rect", "usual")
        assert found.get("width") == "0.0"


class TestNiceTicks:
    @pytest.mark.parametrize(
        ("low", "high", "expected"),
        [
            (0, 1, [0, 0.2, 0.4, 0.6, 0.8, 1]),
            (0, 1234, [0, 250, 500, 750, 1000]),
            (-0.3, 2.1, [0, 0.5, 1, 1.5, 2]),
            (5, 5, [5]),
        ],
    )
    def test_are_round_and_within(self, low: float, high: float, expected: list[float]) -> None:
        assert nice_ticks(low, high) == expected


class TestShort:
    @pytest.mark.parametrize(
        ("value", "text"), [(0, "0"), (0.25, "0.25"), (950, "950"), (1200, "1.2k"), (3_300_000, "3.3M"), (-5000, "-5k")]
    )
    def test_thousands_have_a_sign(self, value: float, text: str) -> None:
        assert short(value) == text
