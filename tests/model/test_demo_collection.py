"""The demo collection on disk: counts, columns, addresses, determinism."""

import hashlib
import subprocess
import sys
from collections import Counter
from pathlib import Path
from urllib.parse import unquote, urlparse

import pytest
from PIL import Image

from model.demo.collection import DemoCollection, generate, read_pairs, read_truth
from model.demo.pairs import DemoPair, Plan, pair_of, truth_line
from tests.model.demo_words import kinds_named

PAIRS = 150


@pytest.fixture(scope="module")
def demo(tmp_path_factory: pytest.TempPathFactory) -> DemoCollection:
    return generate(tmp_path_factory.mktemp("demo with space"), pairs=PAIRS, seed=3, processes=1)


@pytest.fixture(scope="module")
def pairs(demo: DemoCollection) -> list[DemoPair]:
    return list(read_pairs(demo.folder))


def rows(path: Path) -> list[list[str]]:
    return [line.split("\t") for line in path.read_text(encoding="utf-8").splitlines()]


def digest(demo: DemoCollection) -> str:
    """Of every image and of the captions; addresses differ between folders."""
    total = hashlib.sha256()
    for path in sorted(demo.images.iterdir()):
        total.update(path.read_bytes())
    for caption, _ in rows(demo.tsv):
        total.update(caption.encode())
    total.update(demo.truth.read_bytes())
    return total.hexdigest()


class TestGenerate:
    def test_every_line_has_caption_and_address(self, demo: DemoCollection) -> None:
        table = rows(demo.tsv)
        assert len(table) == PAIRS
        assert all(len(row) == 2 for row in table)
        assert all(url.startswith("file:///") and " " not in url for _, url in table)
        assert demo.tsv.read_bytes().endswith(b"\n")

    def test_addresses_lead_to_readable_images(self, demo: DemoCollection) -> None:
        for _, url in rows(demo.tsv):
            with Image.open(unquote(urlparse(url).path)) as image:
                image.load()
                assert (image.format, image.size, image.mode) == ("JPEG", (224, 224), "RGB")

    def test_no_two_images_are_the_same(self, demo: DemoCollection) -> None:
        digests = {hashlib.sha256(path.read_bytes()).digest() for path in demo.images.iterdir()}
        assert len(digests) == PAIRS

    def test_same_seed_gives_the_same_bytes_with_any_number_of_processes(
        self, demo: DemoCollection, tmp_path: Path
    ) -> None:
        again = generate(tmp_path / "again", pairs=PAIRS, seed=3, processes=2)
        assert digest(again) == digest(demo)

    def test_where_no_process_can_be_started_it_draws_in_its_own(self, demo: DemoCollection, tmp_path: Path) -> None:
        """A program read from standard input cannot be imported again by a spawned process."""
        program = (
            "from pathlib import Path\nfrom model.demo.collection import generate\n"
            f"generate(Path({str(tmp_path)!r}), pairs={PAIRS}, seed=3, processes=2)\n"
        )
        done = subprocess.run([sys.executable, "-"], input=program, capture_output=True, text=True, check=True)
        assert "drawing processes died" in done.stderr
        assert digest(DemoCollection(tmp_path, PAIRS, 45, 9)) == digest(demo)

    def test_same_folder_gives_the_same_tsv(self, tmp_path: Path) -> None:
        first = generate(tmp_path, pairs=9, seed=5).tsv.read_bytes()
        assert generate(tmp_path, pairs=9, seed=5).tsv.read_bytes() == first

    def test_other_seed_gives_other_pairs(self, tmp_path: Path) -> None:
        first, second = (generate(tmp_path / str(seed), pairs=9, seed=seed) for seed in (1, 2))
        assert digest(first) != digest(second)

    def test_prefix_and_column_order_are_kept(self, tmp_path: Path) -> None:
        demo = generate(tmp_path, pairs=5, column_order="url_caption", url_prefix="http://127.0.0.1:8000/images/")
        table = rows(demo.tsv)
        assert [url for url, _ in table] == [f"http://127.0.0.1:8000/images/scene-{row:06d}.jpg" for row in range(1, 6)]
        assert all((demo.images / url.rsplit("/", 1)[1]).is_file() for url, _ in table)
        assert [caption for _, caption in table] == [pair.caption for pair in read_pairs(tmp_path)]

    @pytest.mark.parametrize("size", [1, 7])
    def test_small_collections_work(self, size: int, tmp_path: Path) -> None:
        demo = generate(tmp_path, pairs=size, noise=1.0, near_miss=0.0)
        assert set(read_truth(tmp_path).values()) == {"random"}
        assert len(rows(demo.tsv)) == size

    def test_progress_reaches_the_end_without_going_back(self, tmp_path: Path) -> None:
        seen: list[tuple[int, int]] = []
        generate(tmp_path, pairs=70, on_progress=lambda done, total: seen.append((done, total)), processes=1)
        assert seen == sorted(seen)
        assert seen[-1] == (70, 70)

    def test_interrupted_generation_leaves_no_tsv(self, tmp_path: Path) -> None:
        generate(tmp_path, pairs=3)

        def stop(done: int, total: int) -> None:
            raise KeyboardInterrupt

        with pytest.raises(KeyboardInterrupt):
            generate(tmp_path, pairs=3, seed=1, on_progress=stop)
        assert not (tmp_path / "pairs.tsv").exists()
        assert not (tmp_path / "truth.jsonl").exists()

    @pytest.mark.parametrize(
        ("arguments", "message"),
        [
            ({"pairs": 0}, "pairs must be at least 1"),
            ({"noise": -0.1}, "noise must be between 0 and 1"),
            ({"noise": float("nan")}, "noise must be between 0 and 1"),
            ({"near_miss": 1.2}, "near_miss must be between 0 and 1"),
            ({"column_order": "caption"}, "column_order must be one of"),
            ({"processes": 0}, "processes must be at least 1"),
        ],
    )
    def test_wrong_arguments_are_refused_before_anything_is_written(
        self, arguments: dict[str, object], message: str, tmp_path: Path
    ) -> None:
        with pytest.raises(ValueError, match=message):
            generate(tmp_path / "new", **arguments)  # type: ignore[arg-type]
        assert not (tmp_path / "new").exists()


class TestReadTruth:
    def test_counts_are_exactly_those_asked_for(self, demo: DemoCollection) -> None:
        truth = read_truth(demo.folder)
        assert list(truth) == list(range(1, PAIRS + 1))
        assert Counter(truth.values()) == {"match": 105, "random": 36, "near_miss": 9}
        assert (demo.pairs, demo.mismatches, demo.near_misses) == (PAIRS, 45, 9)

    def test_mismatches_are_spread_over_the_file(self, demo: DemoCollection) -> None:
        wrong = [row for row, truth in read_truth(demo.folder).items() if truth != "match"]
        halves = Counter(row <= PAIRS // 2 for row in wrong)
        assert min(halves.values()) >= 10


class TestReadPairs:
    def test_rows_agree_with_the_tsv(self, demo: DemoCollection, pairs: list[DemoPair]) -> None:
        assert [pair.caption for pair in pairs] == [caption for caption, _ in rows(demo.tsv)]
        assert [pair.image for pair in pairs] == [url.rsplit("/", 1)[1] for _, url in rows(demo.tsv)]

    def test_truth_survives_the_way_to_disk_and_back(self, pairs: list[DemoPair]) -> None:
        plan = Plan(PAIRS, 0.3, 0.2, 3)
        assert pairs == [plan.pair(row) for row in range(1, PAIRS + 1)]
        assert pairs == [pair_of(truth_line(pair)) for pair in pairs]

    def test_only_near_misses_name_a_wrong_element(self, pairs: list[DemoPair]) -> None:
        assert all((pair.wrong is not None) == (pair.truth == "near_miss") for pair in pairs)


class TestPlan:
    @pytest.mark.parametrize(
        ("pairs", "noise", "near_miss"),
        [(1, 0.3, 0.2), (7, 0.5, 0.5), (1000, 0.333, 0.111), (40, 0.0, 1.0), (40, 1.0, 1.0)],
    )
    def test_shares_are_rounded_once(self, pairs: int, noise: float, near_miss: float) -> None:
        plan = Plan(pairs, noise, near_miss, seed=0)
        mismatched = round(noise * pairs)
        assert len(plan.near_misses) == round(near_miss * mismatched)
        assert len(plan.near_misses | plan.random_ones) == mismatched
        assert not plan.near_misses & plan.random_ones

    def test_random_caption_tells_of_another_main_thing(self) -> None:
        plan = Plan(400, 1.0, 0.0, seed=0)
        for row in range(1, 401):
            pair = plan.pair(row)
            assert pair.scene.main.kind not in kinds_named(pair.caption)

    def test_a_pair_does_not_depend_on_those_before_it(self) -> None:
        assert Plan(50, 0.3, 0.2, 8).pair(31) == Plan(50, 0.3, 0.2, 8).pair(31)

    def test_captions_share_the_image_of_their_scene(self) -> None:
        plan = Plan(9, 0.0, 0.0, seed=1, captions=2)
        pairs = [plan.pair(row) for row in range(1, 10)]
        assert plan.scenes == 5
        assert [pair.image for pair in pairs[5:]] == [pair.image for pair in pairs[:4]]
        assert [pair.scene for pair in pairs[5:]] == [pair.scene for pair in pairs[:4]]
        assert len({pair.caption for pair in pairs}) == 9

    def test_no_captions_are_refused(self) -> None:
        with pytest.raises(ValueError, match="captions must be at least 1"):
            Plan(9, 0.0, 0.0, seed=1, captions=0)
