"""Results as rows of named keys and as Markdown tables: the mean over seeds with its spread."""

from collections.abc import Iterable, Sequence
from statistics import mean, stdev

from scipy.stats import t as student

from benchmarks.protocol.ablation import TABLES
from benchmarks.protocol.cells import Result

# key -> heading and digits after the point
DETECTION_COLUMNS = {
    "auroc": ("AUROC", 4),
    "average_precision": ("AP", 4),
    "precision": ("precision", 3),
    "recall": ("recall", 3),
    "f1": ("F1", 3),
    "f1_best_cut": ("F1, best cut", 3),
    "ece": ("ECE", 3),
    "noise_rate_true": ("noise", 3),
    "noise_rate_estimate": ("noise, estimated", 3),
    "seconds": ("seconds", 0),
}
RETRIEVAL_COLUMNS = {
    "i2t_r1": ("i2t R@1", 1),
    "i2t_r5": ("R@5", 1),
    "i2t_r10": ("R@10", 1),
    "t2i_r1": ("t2i R@1", 1),
    "t2i_r5": ("R@5", 1),
    "t2i_r10": ("R@10", 1),
    "rsum": ("rSum", 1),
    "seconds": ("seconds", 0),
}
TRUST_COLUMNS = {
    **{name: DETECTION_COLUMNS[name] for name in ("auroc", "f1")},
    "f1_lost": ("F1 lost to the best cut", 4),
    "ece": ("ECE", 3),
    "noise_error": ("error of the noise rate", 3),
    "noise_held": ("rate in its interval", 2),
    "precision_held": ("precision in its interval", 2),
    "flagged": ("flagged", 3),
    "seconds": ("seconds", 0),
}
# Beside those of detection.
TRUST_KEYS = (
    *("f1_lost", "noise_error", "noise_low", "noise_high", "noise_held"),
    *("precision_low", "precision_high", "precision_held", "flagged"),
)
ABLATION_COLUMNS = {
    **{name: column for name, column in RETRIEVAL_COLUMNS.items() if name != "seconds"},
    "auroc": ("AUROC", 4),
    "f1": ("noise F1", 3),
    "seconds": ("seconds", 0),
}

ABLATION_KEYS = ("table", "variant", "method", "backbone", "pairs", "noise", "seed", *ABLATION_COLUMNS)

Columns = dict[str, tuple[str, int]]


def rows(results: Iterable[Result], keys: Sequence[str]) -> list[Result]:
    """Exactly these keys of every result; null where there is none."""
    return [{key: result.get(key) for key in keys} for result in results]


def with_peers(results: Iterable[Result]) -> list[Result]:
    """Every result followed by those it is compared with, which are of the same cell."""
    found = []
    for result in results:
        shared = {
            key: result[key]
            for key in ("backbone", "pairs", "noise", "hard", "seed", "noise_rate_true")
            if key in result
        }
        found += [result, *(shared | peer for peer in result.get("peers", ()))]
    return found


def markdown(results: Sequence[Result], by: Sequence[str], columns: Columns, *, interval: bool = False) -> str:
    """One line for all seeds that share the values of `by`; one cell that failed makes its means those of the rest.

    Behind a mean stands the standard deviation over the seeds, or with `interval` the half width of its 95 % interval.
    """
    groups: dict[tuple[object, ...], list[Result]] = {}
    for result in results:
        groups.setdefault(tuple(result[key] for key in by), []).append(result)
    headings = [*by, "seeds", *(heading for heading, _ in columns.values())]
    lines = [_line(headings), _line(["---"] * len(by) + ["---:"] * (len(columns) + 1))]
    for values, group in groups.items():
        numbers = [
            _number([result.get(key) for result in group], digits, interval) for key, (_, digits) in columns.items()
        ]
        failed = sum("error" in result for result in group)
        seeds = f"{len(group)}, {failed} failed" if failed else str(len(group))
        lines.append(_line([*map(_text, values), seeds, *numbers]))
    return "\n".join(lines)


def ablation_markdown(results: Sequence[Result]) -> str:
    """One titled table after the other; `table` and `variant` say where a result belongs."""
    parts = []
    for name in dict.fromkeys(result["table"] for result in results):
        some = [result for result in results if result["table"] == name]
        table = markdown(some, ("variant", "backbone", "pairs", "noise"), ABLATION_COLUMNS)
        parts.append(f"{TABLES[name].title}\n\n{table}")
    return "\n\n".join(parts)


def _number(values: Sequence[float | None], digits: int, interval: bool) -> str:
    there = [value for value in values if value is not None]
    if not there:
        return "-"
    if len(there) == 1:
        return f"{there[0]:.{digits}f}"
    spread = stdev(there)
    if interval:
        spread *= float(student.ppf(0.975, len(there) - 1)) / len(there) ** 0.5
    return f"{mean(there):.{digits}f} ±{spread:.{digits}f}"


def _text(value: object) -> str:
    if isinstance(value, bool):
        return "yes" if value else "no"
    return f"{value:g}" if isinstance(value, float) else str(value)


def _line(entries: Iterable[str]) -> str:
    return f"| {' | '.join(entries)} |"
