"""Small plots as SVG text, from numbers alone: pure functions that know nothing of runs. Colours and fonts come from
the style sheet by class names. All text that is drawn is escaped here."""

from collections.abc import Sequence
from dataclasses import dataclass
from html import escape
from itertools import pairwise
from math import floor, log1p, log10, sqrt

WIDTH, HEIGHT = 480, 290
LEFT, RIGHT, TOP, BOTTOM = 58, 12, 22, 46  # the name of a mark stands above the plot

Points = Sequence[tuple[float, float]]


@dataclass(frozen=True)
class Line:
    points: Points
    style: str  # a class of the style sheet
    band: Sequence[tuple[float, float, float]] = ()  # x, low, high


@dataclass(frozen=True)
class Axes:
    """Ranges of both axes and what they show; `is_root` draws the heights on a square-root scale."""

    x_label: str
    y_label: str
    x_range: tuple[float, float] = (0.0, 1.0)
    y_range: tuple[float, float] = (0.0, 1.0)
    is_root: bool = False
    is_percent: bool = False
    height: int = HEIGHT

    def x(self, value: float) -> float:
        low, high = self.x_range
        share = min(max((value - low) / (high - low), 0.0), 1.0)
        return LEFT + share * (WIDTH - LEFT - RIGHT)

    def y(self, value: float) -> float:
        low, high = self.y_range
        share = min(max((value - low) / (high - low), 0.0), 1.0)
        share = sqrt(share) if self.is_root else share
        return self.height - BOTTOM - share * (self.height - BOTTOM - TOP)


def line_chart(axes: Axes, lines: Sequence[Line], mark: tuple[float, str] | None = None) -> str:
    """Lines with their bands; `mark` is a place on the x axis and its name."""
    bands = [_band(axes, line) for line in lines if line.band]
    return _svg(axes, [*_frame(axes), *bands, *(_path(axes, line) for line in lines), *_mark(axes, mark)])


def histogram(
    axes: Axes,
    edges: Sequence[float],
    layers: Sequence[tuple[str, Sequence[float]]],
    lines: Sequence[Line] = (),
    mark: tuple[float, str] | None = None,
) -> str:
    """Bars whose layers (class, counts) stand on one another; on a square-root scale the height of a bar shows its
    total, and its layers their shares of it."""
    parts = _frame(axes)
    for place, (start, end) in enumerate(pairwise(edges)):
        parts += _bar_of_layers(axes, axes.x(start), axes.x(end), [(name, counts[place]) for name, counts in layers])
    return _svg(axes, [*parts, *(_path(axes, line) for line in lines), *_mark(axes, mark)])


def heat_map(axes: Axes, grid: Sequence[Sequence[int]]) -> str:
    """Cell (i, j) is column i, row j from below; the fuller, the stronger, on a logarithmic scale."""
    most, size = max((count for column in grid for count in column), default=0), len(grid)
    parts = _frame(axes, has_grid=False)
    for i, column in enumerate(grid):
        for j, count in enumerate(column):
            if count:
                left, right = axes.x(i / size), axes.x((i + 1) / size)
                top, bottom = axes.y((j + 1) / size), axes.y(j / size)
                strength = 0.08 + 0.92 * log1p(count) / log1p(most)
                parts.append(
                    f'<rect class="cell" x="{left:.1f}" y="{top:.1f}" width="{right - left:.1f}" '
                    f'height="{bottom - top:.1f}" fill-opacity="{strength:.2f}"><title>{count:,} pairs</title></rect>'
                )
    return _svg(axes, parts)


def bar(share: float, low: float, high: float, most: float, mark: float, style: str) -> str:
    """A bar for a line of a table, with its interval and a mark (the average), up to `most`."""
    x = [f"{min(value / most, 1.0) * 156 + 2:.1f}" if most else "2" for value in (share, low, high, mark)]
    return (
        '<svg class="bar" viewBox="0 0 160 16" width="160" height="16" aria-hidden="true">'
        f'<rect class="{escape(style)}" x="2" y="3" width="{float(x[0]) - 2:.1f}" height="10"/>'
        f'<path class="whisker" d="M{x[1]} 8H{x[2]}M{x[1]} 5V11M{x[2]} 5V11"/>'
        f'<path class="average" d="M{x[3]} 0V16"/></svg>'
    )


def nice_ticks(low: float, high: float, count: int = 5) -> list[float]:
    """Round numbers within the range, about so many."""
    if not high > low:
        return [low]
    rough = (high - low) / count
    power = 10.0 ** floor(log10(rough))
    step = next(factor * power for factor in (1, 2, 2.5, 5, 10) if factor * power >= rough * 0.999)
    first = -floor(-low / step)
    return [round(number * step, 12) for number in range(first, floor(high / step + 1e-9) + 1)]


def short(value: float) -> str:
    """A number for an axis: 1200 is 1.2k."""
    for size, sign in ((1e9, "G"), (1e6, "M"), (1e3, "k")):
        if abs(value) >= size:
            return f"{value / size:g}{sign}"
    return f"{value:g}"


def _svg(axes: Axes, parts: Sequence[str]) -> str:
    label = escape(f"{axes.y_label} by {axes.x_label}")
    return f'<svg viewBox="0 0 {WIDTH} {axes.height}" role="img" aria-label="{label}">{"".join(parts)}</svg>'


def _frame(axes: Axes, *, has_grid: bool = True) -> list[str]:
    floor_y, parts = axes.height - BOTTOM, []
    low, high = axes.y_range
    roots = (float(f"{high * share:.1g}") for share in (0, 1 / 16, 1 / 4, 9 / 16, 1))
    heights = [value for value in roots if value <= high] if axes.is_root else nice_ticks(low, high)
    for value in heights:
        y, text = axes.y(value), f"{100 * value:.0f} %" if axes.is_percent else short(float(f"{value:.3g}"))
        parts += [f'<path class="grid" d="M{LEFT} {y:.1f}H{WIDTH - RIGHT}"/>'] if has_grid else []
        parts.append(f'<text x="{LEFT - 6}" y="{y + 4:.1f}" text-anchor="end">{text}</text>')
    for value in nice_ticks(*axes.x_range):
        x = axes.x(value)
        parts.append(f'<path class="axis" d="M{x:.1f} {floor_y}v4"/>')
        parts.append(f'<text x="{x:.1f}" y="{floor_y + 18}" text-anchor="middle">{short(value)}</text>')
    middle, centre = (LEFT + WIDTH - RIGHT) / 2, (TOP + floor_y) / 2
    return [
        *parts,
        f'<path class="axis" d="M{LEFT} {TOP}V{floor_y}H{WIDTH - RIGHT}"/>',
        f'<text class="label" x="{middle:.0f}" y="{axes.height - 8}" text-anchor="middle">'
        f"{escape(axes.x_label)}</text>",
        f'<text class="label" transform="translate(13 {centre:.0f}) rotate(-90)" text-anchor="middle">'
        f"{escape(axes.y_label)}</text>",
    ]


def _bar_of_layers(axes: Axes, left: float, right: float, layers: Sequence[tuple[str, float]]) -> list[str]:
    total = sum(count for _, count in layers)
    if total <= 0:
        return []
    floor_y, parts = axes.y(axes.y_range[0]), []
    # Few pairs among many would be thinner than a pixel: half a unit is the least that is drawn.
    full, below = max(floor_y - axes.y(total), 0.5), floor_y
    for style, count in layers:
        if count > 0:
            height = full * count / total
            below -= height
            parts.append(
                f'<rect class="{escape(style)}" x="{left:.1f}" y="{below:.1f}" '
                f'width="{max(right - left - 0.6, 0.4):.1f}" height="{height:.1f}"/>'
            )
    return parts


def _path(axes: Axes, line: Line) -> str:
    places = "L".join(f"{axes.x(x):.1f} {axes.y(y):.1f}" for x, y in line.points)
    return f'<path class="line {escape(line.style)}" d="M{places}"/>' if places else ""


def _band(axes: Axes, line: Line) -> str:
    above = [f"{axes.x(x):.1f} {axes.y(high):.1f}" for x, _, high in line.band]
    below = [f"{axes.x(x):.1f} {axes.y(low):.1f}" for x, low, _ in reversed(line.band)]
    return f'<path class="band {escape(line.style)}" d="M{"L".join([*above, *below])}Z"/>'


def _mark(axes: Axes, mark: tuple[float, str] | None) -> list[str]:
    if mark is None:
        return []
    x, is_right = axes.x(mark[0]), axes.x(mark[0]) > WIDTH * 0.7
    place = f'x="{x + 4:.1f}" text-anchor="end"' if is_right else f'x="{x - 4:.1f}"'
    return [
        f'<path class="mark" d="M{x:.1f} {TOP - 5}V{axes.height - BOTTOM}"/>',
        f'<text class="marked" {place} y="{TOP - 8}">{escape(mark[1])}</text>',
    ]
