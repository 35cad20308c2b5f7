"""The benchmark of the encoders on few images: its report, and an exit code that follows. No time is asserted."""

import json

import pytest
from typer.testing import CliRunner

from benchmarks import encode
from cli.bench import app


@pytest.fixture
def few(monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in (("DISTINCT_FILES", 3), ("BATCH", 4), ("ROUNDS", 1), ("TEXT_CAPTIONS", 5), ("TEXT_BATCH", 3)):
        monkeypatch.setattr(encode, name, value)
    monkeypatch.setattr(encode, "TEXT_ARCHITECTURE", "ViT-S-32-alt")


@pytest.mark.usefixtures("few")
class TestMain:
    def test_exit_code_follows_the_ratio_of_the_images(self, capsys: pytest.CaptureFixture[str]) -> None:
        names = ["lite", "open_clip:ViT-S-32-alt:random"]
        code = encode.main([*(f"--encoder={name}" for name in names), "--size=64x48", "--seconds=0.01"])
        report = json.loads(capsys.readouterr().out)
        assert [result["encoder"] for result in report["encoders"]] == names
        ratios = [result["images"]["ratio"] for result in report["encoders"]]
        assert code == int(min(ratios) < report["least_ratio"])
        for result in report["encoders"]:
            assert result["count"] % 4 == 0
            assert all(result[side]["end_to_end_per_second"] > 0 for side in ("images", "captions", "pairs"))
        assert report["short_text"]["largest_difference"] < 1e-5
        assert 7 <= report["short_text"]["longest_caption"] < report["short_text"]["context"]


class TestCommand:
    @pytest.mark.parametrize(
        ("arguments", "message"),
        [
            (["--size", "big"], "must look like 500x375"),
            (["--encoder", "clip"], "unknown encoder 'clip'"),
            (["--encoder", "open_clip:ViT-B-32:mine"], "knows no weights 'mine'"),
        ],
    )
    def test_wrong_use_is_told_what_to_write(self, arguments: list[str], message: str) -> None:
        result = CliRunner().invoke(app, ["encode", *arguments], env={"COLUMNS": "400"})
        assert result.exit_code == 2
        assert message in result.output

    @pytest.mark.usefixtures("few")
    def test_table_has_a_line_for_each_side(self) -> None:
        result = CliRunner().invoke(app, ["encode", "--encoder", "lite", "--size", "64x48", "--seconds", "0.1"])
        assert result.exit_code in (0, 1)  # by the ratio, which is not for a test
        assert [line.split(" | ")[1] for line in result.output.splitlines() if line.startswith("| lite")] == [
            "images",
            "captions",
            "pairs",
        ]
