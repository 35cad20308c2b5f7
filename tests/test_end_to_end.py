"""The product as its users meet it: real service, real worker, real image files."""

import json
from pathlib import Path

import pyarrow.parquet as pq
import pytest
from PIL import Image

from model.config import BACKBONE_CONFIGS
from service.client import ApiProblem, Client
from tests.conftest import PAIRS

# Enough to go through every stage; quality is measured elsewhere.
QUICK = {"method": "crcl", "method_options": {"piece_epochs": [1, 1], "freeze_epochs": 1}}


def write_lines(path: Path, lines: list[str]) -> Path:
    path.write_text("".join(f"{line}\n" for line in lines))
    return path


def upload(client: Client, path: Path, **options: str) -> str:
    collection = client.create_collection(path.name, **options)
    client.upload(collection.id, path)
    assert client.wait_for_collection(collection.id).state == "ready"
    return str(collection.id)


@pytest.mark.usefixtures("worker")
class TestCleaning:
    def test_every_pair_is_judged_and_exported_once(self, client: Client, scenes: Path, tmp_path: Path) -> None:
        collection_id = upload(client, scenes / "pairs.tsv")
        seen: list[float] = []
        run = client.wait_for_run(
            client.start_run(collection_id, QUICK).id, lambda status: seen.append(status.progress)
        )
        assert run.state == "succeeded"
        assert run.error is None
        assert seen == sorted(seen)
        assert [stage.state for stage in run.stages] == ["succeeded"] * 6
        assert run.summary is not None
        assert run.summary["clean"] + run.summary["noisy"] == run.summary["pairs"] == PAIRS

        pairs = list(client.pairs(run.id))
        assert [pair.row for pair in pairs] == list(range(1, PAIRS + 1))
        for pair in pairs:
            assert pair.status == "success"
            assert (pair.width, pair.height) == (224, 224)
            for name in ("clean_confidence", "confidence_a", "confidence_b", "rectified_correspondence"):
                assert 0 <= getattr(pair, name) <= 1
            assert pair.is_mismatch_issue == (pair.split == "noisy") == (pair.clean_confidence <= 0.5)

        parts = []
        for split in ("clean", "noisy"):
            export = client.wait_for_export(client.start_export(run.id, "tsv", split=split).id)
            client.download(export, tmp_path / f"{split}.tsv")
            lines = (tmp_path / f"{split}.tsv").read_text().splitlines()
            assert len(lines) == export.rows == sum(pair.split == split for pair in pairs)
            parts += lines
        assert sorted(parts) == sorted((scenes / "pairs.tsv").read_text().splitlines())

        export = client.wait_for_export(client.start_export(run.id, "parquet").id)
        client.download(export, tmp_path / "all.parquet")
        table = pq.read_table(tmp_path / "all.parquet").to_pylist()
        assert [row["clean_confidence"] for row in table] == pytest.approx([p.clean_confidence for p in pairs])
        assert {row["run_id"] for row in table} == {str(run.id)}

    def test_the_same_seed_gives_the_same_scores_and_encodes_nothing_again(self, client: Client, scenes: Path) -> None:
        collection_id = upload(client, scenes / "pairs.tsv")
        runs = [client.wait_for_run(client.start_run(collection_id, {**QUICK, "seed": 5}).id) for _ in range(2)]
        first, second = ([pair.clean_confidence for pair in client.pairs(run.id)] for run in runs)
        assert first == second

    def test_ncr_runs_too(self, client: Client, scenes: Path) -> None:
        options = {"method": "ncr", "method_options": {"warmup_epochs": 1, "epochs": 1}}
        collection_id = upload(client, scenes / "pairs.tsv")
        run = client.wait_for_run(client.start_run(collection_id, options).id)
        assert run.state == "succeeded", run.error


@pytest.mark.usefixtures("worker")
class TestLabels:
    def test_labels_of_the_subset_are_judged_and_exported(self, client: Client, scenes: Path, tmp_path: Path) -> None:
        """The five columns of Conceptual Captions with labels: the first of the listed labels counts."""
        names = ["animal", "Gebäude 🏠", "sky"]
        given = (scenes / "pairs.tsv").read_text().splitlines()
        lines = [
            f"{line}\t{names[number % 3]},second\t/m/0bt9lr,/m/01bqvp\t0.98,0.5" for number, line in enumerate(given)
        ]
        collection_id = upload(client, write_lines(tmp_path / "pairs.tsv", lines))
        assert client.collection(collection_id).labelled == PAIRS
        options = {"method": "mrl", "method_options": {"epochs": 2}}
        run = client.wait_for_run(client.start_run(collection_id, options).id)
        assert run.state == "succeeded", run.error

        pairs = list(client.pairs(run.id))
        assert [pair.label for pair in pairs] == [names[number % 3] for number in range(PAIRS)]
        assert {pair.predicted_label for pair in pairs} <= set(names)
        assert all(pair.label_confidence is not None and 0 <= pair.label_confidence <= 1 for pair in pairs)
        assert {pair.uncertainty for pair in pairs} == {None}
        assert len(list(client.pairs(run.id, label=names[1]))) == PAIRS // 3
        worst = next(iter(client.pairs(run.id, sort="label_confidence")))
        assert worst.label_confidence == min(pair.label_confidence or 0.0 for pair in pairs)

        export = client.wait_for_export(client.start_export(run.id, "parquet").id)
        client.download(export, tmp_path / "all.parquet")
        table = pq.read_table(tmp_path / "all.parquet").to_pylist()
        for name in ("label", "predicted_label"):
            assert [row[name] for row in table] == [getattr(pair, name) for pair in pairs]
        export = client.wait_for_export(client.start_export(run.id, "tsv").id)
        client.download(export, tmp_path / "all.tsv")
        assert (tmp_path / "all.tsv").read_text().splitlines() == lines


@pytest.mark.usefixtures("worker")
class TestWords:
    @pytest.mark.skipif("vse_infinity" not in BACKBONE_CONFIGS, reason="no backbone reads words yet")
    def test_backbone_that_reads_words_gets_the_captions(self, client: Client, scenes: Path) -> None:
        small = {"embed_size": 16, "word_size": 16, "hidden_size": 16}
        options = {**QUICK, "backbone": "vse_infinity", "backbone_options": small}
        run = client.wait_for_run(client.start_run(upload(client, scenes / "pairs.tsv"), options).id)
        assert run.state == "succeeded", run.error
        assert all(pair.clean_confidence is not None for pair in client.pairs(run.id))


@pytest.mark.usefixtures("worker")
class TestImages:
    def test_unreadable_images_are_listed_and_the_rest_goes_on(
        self, client: Client, scenes: Path, tmp_path: Path
    ) -> None:
        lines = (scenes / "pairs.tsv").read_text().splitlines()[:70]
        whole = (scenes / "images" / "scene-000001.jpg").read_bytes()
        (tmp_path / "cut.jpg").write_bytes(whole[: len(whole) // 2])
        (tmp_path / "text.jpg").write_text("not an image")
        Image.new("RGB", (10, 10)).save(tmp_path / "picture.bmp")
        broken = ["cut.jpg", "text.jpg", "picture.bmp", "missing.jpg"]
        lines += [f"a broken one\t{(tmp_path / name).as_uri()}" for name in broken]
        collection_id = upload(client, write_lines(tmp_path / "pairs.tsv", lines))
        run = client.wait_for_run(client.start_run(collection_id, QUICK).id)
        assert run.state == "succeeded", run.error
        assert run.summary is not None
        assert run.summary["unscored"] == 4

        unscored = list(client.pairs(run.id, split="unscored"))
        assert [pair.error_class for pair in unscored] == ["truncated", "not_an_image", "not_an_image", "404"]
        assert all(pair.clean_confidence is None and pair.error_message for pair in unscored)
        images = client.collection(collection_id).images
        assert images == {"404": 1, "not_an_image": 2, "success": 70, "truncated": 1}
        export = client.wait_for_export(client.start_export(run.id, "jsonl", split="unscored").id)
        client.download(export, tmp_path / "unscored.jsonl")
        rows = [json.loads(line) for line in (tmp_path / "unscored.jsonl").read_text().splitlines()]
        assert [row["row"] for row in rows] == [71, 72, 73, 74]

    def test_a_run_without_one_readable_image_fails_with_the_reasons(self, client: Client, tmp_path: Path) -> None:
        lines = [f"nothing there {n}\tfile:///nowhere/{n}.jpg" for n in range(70)]
        collection_id = upload(client, write_lines(tmp_path / "pairs.tsv", lines))
        run = client.wait_for_run(client.start_run(collection_id, QUICK).id)
        assert run.state == "failed"
        assert run.error is not None
        assert run.error.code == "no_images"
        assert "404: 70" in run.error.detail
        assert [stage.state for stage in run.stages] == ["failed"] + ["cancelled"] * 5
        with pytest.raises(ApiProblem, match="once it has succeeded"):
            client.start_export(run.id, "tsv")

    def test_too_few_readable_images_fail_with_the_minimum(self, client: Client, scenes: Path, tmp_path: Path) -> None:
        lines = (scenes / "pairs.tsv").read_text().splitlines()[:10]
        lines += [f"nothing there {n}\tfile:///nowhere/{n}.jpg" for n in range(60)]
        collection_id = upload(client, write_lines(tmp_path / "pairs.tsv", lines))
        run = client.wait_for_run(client.start_run(collection_id, QUICK).id)
        assert run.error is not None
        assert run.error.code == "too_few_pairs"
        assert "10 pairs have a readable image; training needs at least 64" in run.error.detail

    def test_paths_below_an_image_root_are_found(self, client: Client, scenes: Path, tmp_path: Path) -> None:
        lines = []
        for line in (scenes / "pairs.tsv").read_text().splitlines():
            caption, url = line.split("\t")
            lines.append(f"{url.rpartition('/')[2]}\t{caption}")
        path = write_lines(tmp_path / "pairs.tsv", lines)
        collection_id = upload(client, path, image_root=str(scenes / "images"))
        run = client.wait_for_run(client.start_run(collection_id, QUICK).id)
        assert run.state == "succeeded", run.error


@pytest.mark.usefixtures("worker")
class TestCancel:
    def test_a_cancelled_run_stops_and_can_be_resumed(self, client: Client, scenes: Path) -> None:
        collection_id = upload(client, scenes / "pairs.tsv")
        endless = {
            "method": "crcl",
            "method_options": {"piece_epochs": [1000] * 9, "freeze_epochs": 0},
            "batch_size": 16,
        }
        run = client.start_run(collection_id, endless)
        while next(stage for stage in client.run(run.id).stages if stage.name == "train").progress == 0:
            assert client.run(run.id).state in ("queued", "running")
        client.cancel(run.id)
        ended = client.wait_for_run(run.id)
        assert ended.state == "cancelled"
        assert [stage.state for stage in ended.stages] == ["succeeded"] * 2 + ["cancelled"] * 4
        resumed = client.resume(run.id)
        assert [stage.state for stage in resumed.stages] == ["succeeded"] * 2 + ["queued"] + ["waiting"] * 3
        client.cancel(run.id)
        assert client.wait_for_run(run.id).state == "cancelled"
