"""Markdown from results: means over seeds, the spread, failures in the open."""

from benchmarks.protocol.tables import ablation_markdown, markdown, rows

RESULTS = [
    {"method": "crcl", "noise": 0.2, "seed": 0, "auroc": 0.9, "config": "x"},
    {"method": "crcl", "noise": 0.2, "seed": 1, "auroc": 0.8, "config": "y"},
    {"method": "ncr", "noise": 0.2, "seed": 0, "error": "diverged", "config": "z"},
]


class TestRows:
    def test_keep_the_keys_alone_and_in_order(self) -> None:
        assert rows(RESULTS[2:], ("seed", "auroc")) == [{"seed": 0, "auroc": None}]


class TestMarkdown:
    def test_mean_and_spread_over_seeds(self) -> None:
        # Sample deviation of .9 and .8: sqrt(2 * .05^2) = .0707.
        lines = markdown(RESULTS, ("method", "noise"), {"auroc": ("AUROC", 3)}).splitlines()
        assert lines[0] == "| method | noise | seeds | AUROC |"
        assert lines[2] == "| crcl | 0.2 | 2 | 0.850 ±0.071 |"

    def test_failed_cell_is_shown(self) -> None:
        lines = markdown(RESULTS, ("method", "noise"), {"auroc": ("AUROC", 3)}).splitlines()
        assert lines[3] == "| ncr | 0.2 | 1, 1 failed | - |"


class TestAblationMarkdown:
    def test_each_table_has_its_title_and_its_variants(self) -> None:
        shared = {"backbone": "head", "pairs": 80, "noise": 0.2, "rsum": 200.0}
        text = ablation_markdown(
            [{"table": "lnc8", "variant": "MR", **shared}, {"table": "crcl4", "variant": "L_d", **shared}]
        )
        first, second = text.split("CRCL Table 4")
        assert first.startswith("LNC Table 8")
        assert "| MR | head | 80 | 0.2 | 1 |" in first
        assert "| L_d | head | 80 | 0.2 | 1 |" in second
