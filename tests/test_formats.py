"""Every way in and every encoder, through the product: real service, real worker; one score per pair comes out."""

import io
import json
import tarfile
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlsplit

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import torch
import zstandard
from safetensors.torch import save_file

from model.encoders.clip_models import open_clip_package
from service.client import Client
from service.schemas import Collection, Run
from tests.conftest import PAIRS

SMALL_CLIP = "ViT-S-32-alt"
QUICK = {"method": "crcl", "method_options": {"piece_epochs": [1], "freeze_epochs": 0}}


@pytest.fixture(scope="module")
def given(scenes: Path) -> list[tuple[str, Path]]:
    """Captions and image files of the small demo collection."""
    lines = (scenes / "pairs.tsv").read_text().splitlines()
    return [(caption, Path(unquote(urlsplit(url).path))) for caption, url in (line.split("\t") for line in lines)]


def ingest(client: Client, path: Path, **options: Any) -> Collection:
    if path.is_dir():
        collection = client.create_collection(path.name, folder=str(path), **options)
    else:
        collection = client.create_collection(path.name, **options)
        client.upload(collection.id, path)
    read = client.wait_for_collection(collection.id)
    assert read.state == "ready", read.error
    return read


def clean(client: Client, collection: Collection, **options: Any) -> Run:
    run = client.wait_for_run(client.start_run(collection.id, QUICK | options).id)
    assert run.state == "succeeded", run.error
    return run


def captions_of(client: Client, run: Run) -> list[str]:
    pairs = list(client.pairs(run.id))
    assert all(pair.clean_confidence is not None for pair in pairs)
    return [pair.caption for pair in pairs]


def add_member(tar: tarfile.TarFile, name: str, data: bytes) -> None:
    info = tarfile.TarInfo(name)
    info.size = len(data)
    tar.addfile(info, io.BytesIO(data))


def write_shard(path: Path, pairs: list[tuple[str, Path]]) -> Path:
    with tarfile.open(path, "w") as tar:
        for number, (caption, image) in enumerate(pairs):
            add_member(tar, f"{number:05d}{image.suffix}", image.read_bytes())
            add_member(tar, f"{number:05d}.txt", caption.encode())
            add_member(tar, f"{number:05d}.json", json.dumps({"url": f"http://example.com/{number}.jpg"}).encode())
    return path


def write_precomp(folder: Path, regions: int) -> Path:
    """Fifty images of ten kinds, two captions each; a noise index that exchanges a third of them."""
    rng = np.random.default_rng(0)
    kinds = np.arange(50) % 10
    images = 3 * rng.standard_normal((10, 1, 24))[kinds] + rng.standard_normal((50, regions, 24))
    folder.mkdir()
    np.save(folder / "train_ims.npy", images.astype(np.float32))
    captions = [f"caption {number} shows kind{kinds[number // 2]}\n" for number in range(100)]
    (folder / "train_caps.txt").write_text("".join(captions))
    (folder / "train_ids.txt").write_text("".join(f"{number}\n" for number in range(50)))
    noisy = np.arange(100) // 2
    noisy[::3] = (noisy[::3] + 7) % 50
    np.save(folder / "0.3.npy", noisy)
    return folder


@pytest.mark.usefixtures("worker")
class TestTables:
    def test_jsonl_with_zstd_keeps_captions_and_other_fields(
        self, client: Client, given: list[tuple[str, Path]], tmp_path: Path
    ) -> None:
        odd = 'a "quoted" caption\twith a TAB,\nand a line 🐕'
        rows = [{"text": caption, "image_url": image.as_uri(), "id": n} for n, (caption, image) in enumerate(given)]
        rows[0]["text"] = odd
        lines = "".join(json.dumps(row) + "\n" for row in rows)
        path = tmp_path / "pairs.jsonl.zst"
        path.write_bytes(zstandard.compress(lines.encode() + b"no object\n"))
        collection = ingest(client, path)
        assert (collection.accepted, collection.rejected) == (PAIRS, 1)
        assert collection.format is not None
        assert collection.format["format"] == "jsonl"
        run = clean(client, collection)
        assert captions_of(client, run)[0] == odd

        export = client.wait_for_export(client.start_export(run.id, "jsonl").id)
        client.download(export, tmp_path / "all.jsonl")
        kept = [json.loads(line) for line in (tmp_path / "all.jsonl").read_text().splitlines()]
        assert kept[0]["caption"] == odd
        export = client.wait_for_export(client.start_export(run.id, "tsv").id)
        assert export.state == "failed"
        assert export.error is not None
        assert "row 1" in export.error.detail
        assert "jsonl" in export.error.detail

    def test_csv_comes_back_as_tsv_with_its_columns(
        self, client: Client, given: list[tuple[str, Path]], tmp_path: Path
    ) -> None:
        lines = [f'{number},{image.as_uri()},"{caption}"' for number, (caption, image) in enumerate(given)]
        path = tmp_path / "pairs.csv"
        path.write_text("\r\n".join(["id,url,title", *lines]) + "\r\n")
        run = clean(client, ingest(client, path))
        assert captions_of(client, run) == [caption for caption, _ in given]
        export = client.wait_for_export(client.start_export(run.id, "tsv").id)
        client.download(export, tmp_path / "all.tsv")
        back = (tmp_path / "all.tsv").read_text().splitlines()
        assert back[0] == "id\turl\ttitle"
        assert back[1] == f"0\t{given[0][1].as_uri()}\t{given[0][0]}"


@pytest.mark.usefixtures("worker")
class TestImagesInside:
    def test_webdataset_needs_no_network(self, client: Client, given: list[tuple[str, Path]], tmp_path: Path) -> None:
        collection = ingest(client, write_shard(tmp_path / "00000.tar", given))
        assert collection.format is not None
        assert (collection.format["format"], collection.format["images"]) == ("webdataset", "members")
        run = clean(client, collection)
        assert captions_of(client, run) == [caption for caption, _ in given]
        first = next(iter(client.pairs(run.id)))
        assert (first.url, first.width) == ("http://example.com/0.jpg", 224)

    def test_img2dataset_folder_is_read_where_it_lies(
        self, client: Client, given: list[tuple[str, Path]], tmp_path: Path
    ) -> None:
        write_shard(tmp_path / "00000.tar", given)
        rows = [
            {"key": f"{number:05d}", "url": f"http://example.com/{number}.jpg", "caption": caption, "status": "success"}
            for number, (caption, _) in enumerate(given)
        ]
        rows.append({"key": "99999", "url": "http://example.com/x.jpg", "caption": "x", "status": "failed_to_download"})
        pq.write_table(pa.Table.from_pylist(rows), tmp_path / "00000.parquet")
        collection = ingest(client, tmp_path)
        assert (collection.accepted, collection.reject_reasons) == (PAIRS, {"image_failed": 1})
        assert captions_of(client, clean(client, collection)) == [caption for caption, _ in given]


@pytest.mark.usefixtures("worker")
class TestFeaturesInside:
    def test_precomputed_regions_with_a_noise_index_are_judged_against_it(self, client: Client, tmp_path: Path) -> None:
        folder = write_precomp(tmp_path / "f8k_precomp", regions=5)
        collection = ingest(client, folder, noise_index="0.3.npy")
        assert (collection.accepted, collection.rejected) == (100, 0)
        run = clean(client, collection, backbone="vse_infinity")
        assert run.summary is not None
        truth = run.summary["truth"]
        assert (truth["pairs"], truth["noise_rate"]) == (100, 0.34)
        assert 0 <= truth["auroc"] <= 1

    def test_embeddings_of_both_sides_need_no_encoder(self, client: Client, tmp_path: Path) -> None:
        rng = np.random.default_rng(0)
        for name in ("img_emb", "text_emb", "metadata"):
            (tmp_path / name).mkdir()
        for shard in range(2):
            for side in ("img_emb", "text_emb"):
                np.save(tmp_path / side / f"{side}_{shard}.npy", rng.standard_normal((40, 16)).astype(np.float16))
            rows = [{"caption": f"{shard} {number}", "url": f"http://example.com/{number}"} for number in range(40)]
            pq.write_table(pa.Table.from_pylist(rows), tmp_path / "metadata" / f"metadata_{shard}.parquet")
        run = clean(client, ingest(client, tmp_path))
        assert captions_of(client, run) == [f"{shard} {number}" for shard in range(2) for number in range(40)]

    def test_an_encoder_of_images_is_refused_at_once(self, client: Client, tmp_path: Path) -> None:
        collection = ingest(client, write_precomp(tmp_path / "precomp", regions=2))
        with pytest.raises(Exception, match="brings features and no images"):
            client.start_run(collection.id, {"encoder": "lite"})


@pytest.mark.usefixtures("worker")
class TestOpenClip:
    def test_patches_of_a_local_checkpoint_are_used(self, client: Client, scenes: Path, tmp_path: Path) -> None:
        torch.manual_seed(0)
        weights = tmp_path / "random.safetensors"
        save_file(open_clip_package().create_model(SMALL_CLIP).state_dict(), weights)
        collection = ingest(client, scenes / "pairs.tsv")
        encoder = f"open_clip:{SMALL_CLIP}:{weights}"
        run = clean(client, collection, encoder=encoder, regions=True, backbone="vse_infinity")
        assert len(captions_of(client, run)) == PAIRS
        assert run.config["encoder"] == encoder

    def test_missing_weights_fail_the_run_with_what_to_do(self, client: Client, scenes: Path, tmp_path: Path) -> None:
        collection = ingest(client, scenes / "pairs.tsv")
        encoder = f"open_clip:{SMALL_CLIP}:{tmp_path / 'nothing.safetensors'}"
        run = client.wait_for_run(client.start_run(collection.id, {"encoder": encoder}).id)
        assert run.state == "failed"
        assert run.error is not None
        assert (run.error.code, run.stages[0].state) == ("no_such_path", "failed")  # before any image is fetched
        assert "nothing.safetensors" in run.error.detail


@pytest.mark.usefixtures("worker")
class TestDetector:
    def test_missing_file_fails_the_run_with_what_to_do(self, client: Client, scenes: Path, tmp_path: Path) -> None:
        collection = ingest(client, scenes / "pairs.tsv")
        run = client.wait_for_run(client.start_run(collection.id, {"detector": str(tmp_path / "none.onnx")}).id)
        assert (run.state, run.stages[0].state) == ("failed", "failed")  # before any image is fetched
        assert run.error is not None
        assert run.error.code == "no_such_path"
        assert run.error.detail.startswith("detector: the worker finds no file")
        assert "none.onnx" in run.error.detail
