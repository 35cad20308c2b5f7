"""A run with probes, made by the real stages in this process, and what must hold for all that is given out of it."""

import importlib
import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx2 as httpx
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from sqlalchemy import Engine

from model.data.rows import pair_uid
from service.client import Client
from service.config import Settings
from service.db import jobs
from service.db.states import JobState
from service.db.tables import Stage
from service.storage import Storage
from tests.service.machine import claimed, do, stages
from worker.lease import Lease
from worker.stages.context import StageContext, StageFailed

ROWS, REJECTED, UNREADABLE, REPEATED = 240, 3, 7, 5
ACCEPTED = ROWS - REJECTED
SCORED = ACCEPTED - UNREADABLE

# The only places where probes are spoken of: what was asked for, and their statistics.
MENTIONS = [
    r"(items\.\d+\.)?config\.probe_share",
    r"recipe\.probe_share",
    r"calibration\.probes(\..*)?",
    r"histograms\.(loss|confidence)\.(probes|probe_kinds)(\..*)?",
]
UID = re.compile(r"\b[0-9a-f]{32}\b")


@dataclass(frozen=True)
class Published:
    http: httpx.Client
    client: Client
    ids: dict[str, str]  # what stands for {id} below each kind of path
    uids: dict[int, str]  # row -> uid of the uploaded pairs
    probes: int
    reviewed: str

    @property
    def told_off(self) -> set[int]:
        """Counts that nobody may be told: of pairs and probes together."""
        return {ACCEPTED + self.probes, SCORED + self.probes}


def write_folder(folder: Path) -> Path:
    """Embeddings of both sides, a third of them mismatched; with lines that are no pairs, pairs that are repeated and
    images that cannot be used."""
    rng = np.random.default_rng(0)
    hidden = rng.normal(size=(ROWS, 8))
    captions = (hidden @ rng.normal(size=(8, 16))).astype(np.float32)
    images = (hidden @ rng.normal(size=(8, 24))).astype(np.float32)
    images[::3] = np.roll(images[::3], 1, axis=0)
    images[-UNREADABLE:] = np.nan
    source = np.arange(ROWS)
    source[100 : 100 + REPEATED] = source[:REPEATED]
    words = ["" if row < 50 + REJECTED and row >= 50 else f"picture {row} of a thing" for row in source]
    records = [
        {"caption": caption, "url": f"https://host{row % 4}.example/{row}.jpg", "label": f"kind {row % 3}"}
        for caption, row in zip(words, source, strict=True)
    ]
    for name in ("img_emb", "text_emb", "metadata"):
        (folder / name).mkdir(parents=True)
    np.save(folder / "img_emb" / "img_emb_0.npy", images)
    np.save(folder / "text_emb" / "text_emb_0.npy", captions)
    pq.write_table(pa.Table.from_pylist(records), folder / "metadata" / "metadata_0.parquet")
    return folder


def work(engine: Engine, settings: Settings) -> None:
    """Everything that waits for a worker, as a worker does it; where a stage fails, that is told and raised."""
    while waiting := stages(engine, Stage.state == JobState.QUEUED):
        for stage in waiting:
            lease = Lease(engine, claimed(engine, stage.id), settings)
            with lease.held():
                context = StageContext(lease, Storage(settings.required_storage))
                try:
                    importlib.import_module(f"worker.stages.{stage.name}").run(context)
                except StageFailed as failure:
                    do(engine, jobs.fail, lease.claim, failure.problem)
                    raise


def walk(value: Any, path: str = "") -> Iterator[tuple[str, Any]]:
    """Everything in an answer, with where it stands."""
    yield path, value
    items = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for name, part in items:
        yield from walk(part, f"{path}.{name}".lstrip("."))


def numbers(text: str) -> set[int]:
    """Whole numbers in a text, with or without commas between thousands."""
    found = re.findall(r"(?<![\w.,])(?:\d{1,3}(?:,\d{3})+|\d+)(?!\w)", text)
    return {int(number.replace(",", "")) for number in found}


def check(answer: Any, published: Published) -> None:
    """What holds for every answer: only uploaded pairs, probes mentioned where they may be, no count with them."""
    for path, value in walk(answer):
        if isinstance(value, dict) and "uid" in value:
            assert value["uid"] in published.uids.values(), path
            assert "row" not in value or published.uids[value["row"]] == value["uid"], path
        if "probe" in path.rpartition(".")[2]:
            assert any(re.fullmatch(allowed, path) for allowed in MENTIONS), path
        if isinstance(value, int):
            assert value not in published.told_off, path
        if isinstance(value, str):
            assert not numbers(value) & published.told_off, path
            assert set(UID.findall(value)) <= set(published.uids.values()) or path.endswith("sha256"), path


def pages(published: Published, path: str, query: dict[str, Any]) -> list[dict[str, Any]]:
    items, following = [], None
    while True:
        answer = published.http.get(path, params=query | ({"cursor": following} if following else {}))
        assert answer.status_code == 200, answer.text
        page = answer.json()
        check(page, published)
        items += page["items"]
        if not (following := page["next"]):
            return items


def of_path(published: Published, path: str) -> list[str]:
    """The paths it stands for: with the uids of many pairs where it asks for one."""
    filled = path.replace("{id}", published.ids.get(path.split("/")[2], ""))
    if "{uid}" not in filled:
        return [filled]
    uids = [published.reviewed] if filled.endswith("/review") else sorted(set(published.uids.values()))[::5]
    return [filled.replace("{uid}", uid) for uid in uids]


def read_tsv(path: Path, _: Published) -> list[str]:
    return [pair_uid(*line.split("\t")) for line in path.read_text().splitlines()[1:]]


def read_records(records: list[dict[str, Any]], published: Published) -> list[str]:
    check(records, published)
    assert len({record["row"] for record in records}) == len(records)
    return [record["uid"] for record in records]


def read_jsonl(path: Path, published: Published) -> list[str]:
    return read_records([json.loads(line) for line in path.read_text().splitlines()], published)


def read_parquet(path: Path, published: Published) -> list[str]:
    return read_records(pq.read_table(path).to_pylist(), published)


def read_weights(path: Path, published: Published) -> list[str]:
    header, *lines = (line.split("\t") for line in path.read_text().splitlines())
    assert header == ["uid", "row", "weight"]
    return read_records([{"uid": uid, "row": int(row)} for uid, row, _ in lines], published)


# The uids in a file of each format.
READ = {"tsv": read_tsv, "jsonl": read_jsonl, "parquet": read_parquet, "weights": read_weights}
