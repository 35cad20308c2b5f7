"""The output of clip-retrieval: img_emb/img_emb_N.npy, text_emb/text_emb_N.npy, metadata/metadata_N.parquet."""

import re

from model.data.folders.arrays import Part, Stacked, map_array, read_header
from model.data.folders.folder import Folder
from model.data.folders.listing import Listing
from model.data.folders.names import natural
from model.data.folders.parquet_rows import ParquetRows
from model.data.folders.tabular import FeatureTables
from model.data.rows import FileError
from model.data.source import ReadOptions

FORMAT = "clip-retrieval"
EXPECTED = "img_emb/img_emb_N.npy and metadata/metadata_N.parquet, with text_emb/text_emb_N.npy where there are any"
_NAME = re.compile(r"(?P<root>(?:.*/)?)(?P<kind>img_emb|text_emb|metadata)/(?P=kind)_(?P<number>\w+)\.(?:npy|parquet)")

Shards = dict[str, str]  # number of the shard -> name of the member


def find(folder: Folder, listing: Listing, options: ReadOptions) -> FeatureTables | None:
    found: dict[str, Shards] = {"img_emb": {}, "text_emb": {}, "metadata": {}}
    for name in listing.files:
        match = _NAME.fullmatch(name)
        if match is not None and name.endswith(".parquet") == (match["kind"] == "metadata"):
            found[match["kind"]][match["root"] + match["number"]] = name
    images, captions, metadata = found["img_emb"], found["text_emb"], found["metadata"]
    if not images or not metadata:
        return None
    _same_shards(images, metadata)
    if captions:
        _same_shards(images, captions)
    numbers = sorted(images, key=natural)
    tables = [ParquetRows(folder.locate(listing.files[metadata[number]]), metadata[number]) for number in numbers]
    source = FeatureTables(FORMAT, folder, listing, options, tables)
    stacks = [_stack(folder, listing, shards, numbers, tables) for shards in (images, captions) if shards]
    source.add_features(stacks[0], stacks[1] if captions else None)
    return source


def _stack(folder: Folder, listing: Listing, shards: Shards, numbers: list[str], tables: list[ParquetRows]) -> Stacked:
    parts = [npy_part(folder, listing, shards[number]) for number in numbers]
    for part, table in zip(parts, tables, strict=True):
        check_rows(part, table)
    return Stacked(parts)


def npy_part(folder: Folder, listing: Listing, name: str) -> Part:
    member = listing.files[name]
    with folder.open(member) as stream:
        header = read_header(stream, name)
    return Part(name, header, lambda: map_array(folder.locate(member), name))


def check_rows(part: Part, table: ParquetRows) -> None:
    rows = part.header.shape[0] if part.header.shape else 0
    if rows != table.rows:
        raise FileError(
            "counts_differ",
            f"{part.name} has {rows:,} rows, but {table.name} has {table.rows:,}: row i must be the same pair in both.",
        )


def _same_shards(first: Shards, second: Shards) -> None:
    alone = sorted(set(first) ^ set(second), key=natural)
    if alone:
        names = [first.get(number) or second[number] for number in alone]
        raise FileError(
            "shards_incomplete", f"These files have no partner: {', '.join(names[:5])}. Add or remove them."
        )
