"""A run through all stages in this process, on embeddings whose elements are known; some rows are shifted."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from sqlalchemy import Engine

from service.client import Client
from service.config import Settings
from service.db.states import Scope
from tests.conftest import make_key, serving
from tests.probe_run import work

ROWS = 500
SHIFTED = range(300, 400)  # captions here belong to the image one row further down
THINGS = ("ball", "dog", "car", "tree", "boat", "horse")
COLOURS = ("red", "blue", "green", "white", "black")
PLACES = ("beach", "street", "forest", "kitchen")
QUICK = {"method": "crcl", "method_options": {"piece_epochs": [6, 6], "freeze_epochs": 0}, "score_draws": 1}


@dataclass(frozen=True)
class Explained:
    client: Client
    collection_id: str
    run_id: str
    captions: list[str]  # by row
    is_mismatch: np.ndarray


def write_folder(folder: Path) -> tuple[list[str], np.ndarray]:
    """Row i of the arrays is line i + 1. One in six captions is another row's; a block of them is shifted."""
    rng = np.random.default_rng(2)
    parts = [rng.integers(0, len(words), ROWS) for words in (THINGS, COLOURS, PLACES)]
    shown = np.concatenate([np.eye(6)[parts[0]], np.eye(5)[parts[1]], np.eye(4)[parts[2]]], axis=1)
    source = np.arange(ROWS)
    wrong = rng.choice(ROWS, ROWS // 6, replace=False)
    source[wrong] = np.roll(wrong, 7)
    source[SHIFTED.start : SHIFTED.stop] = np.arange(SHIFTED.start, SHIFTED.stop) + 1
    captions = [f"a {COLOURS[c]} {THINGS[t]} on the {PLACES[p]}" for t, c, p in zip(*parts, strict=True)]
    images = shown @ rng.normal(size=(15, 24)) + rng.normal(size=(ROWS, 24)) / 8
    texts = shown @ rng.normal(size=(15, 16))
    records = [{"caption": captions[of], "url": f"https://host.example/{row}.jpg"} for row, of in enumerate(source)]
    for name in ("img_emb", "text_emb", "metadata"):
        (folder / name).mkdir(parents=True)
    np.save(folder / "img_emb" / "img_emb_0.npy", images.astype(np.float32))
    np.save(folder / "text_emb" / "text_emb_0.npy", texts[source].astype(np.float32))
    pq.write_table(pa.Table.from_pylist(records), folder / "metadata" / "metadata_0.parquet")
    is_mismatch = np.array([captions[row] != captions[of] for row, of in enumerate(source)])
    return [record["caption"] for record in records], is_mismatch


@contextmanager
def explained_run(engine: Engine, settings: Settings, folder: Path) -> Iterator[Explained]:
    captions, is_mismatch = write_folder(folder)
    with serving(settings) as url:
        client = Client(url, make_key(engine, Scope.WRITE, "explained"))
        collection = client.create_collection("embeddings", folder=str(folder))
        work(engine, settings)
        run = client.start_run(collection.id, QUICK)
        work(engine, settings)
        yield Explained(client, str(collection.id), str(run.id), captions, is_mismatch)
        client.close()
