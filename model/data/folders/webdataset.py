"""WebDataset: a tar, or many, in which adjacent members with the same key are one sample.

The caption is the .txt byte for byte (nothing is stripped, not even a last newline), or a field of the .json; the
other fields of the .json come along. Read as a stream: no list of the members is ever made.
"""

import json
from collections.abc import Iterator
from itertools import groupby, islice
from typing import Any

from model.data.checks import BadRow
from model.data.columns import CAPTION_NAMES, LABEL_NAMES, URL_NAMES
from model.data.folders.base import MEMBER_URL, FolderSource, judged
from model.data.folders.fields import caption_of, extra_of, label_of, url_of
from model.data.folders.folder import Folder, TarFolder
from model.data.folders.listing import Listing
from model.data.folders.names import IMAGE_EXTENSIONS, Member, is_tar_name, split_key
from model.data.rows import MAX_LINE_BYTES, FileError, Pair, Reject, pair_uid
from model.data.source import Column, ImageSource, ReadOptions

EXPECTED = "a tar (or several) with key.jpg and key.txt or key.json for every sample"
MAX_JSON_BYTES = 1 << 20
MAX_SAMPLE_MEMBERS = 100  # of one key; a sample has a handful
_KNOWN = {"jpg", "jpeg", "png", "webp", "gif", "txt", "json"}


def find(folder: Folder, listing: Listing, options: ReadOptions) -> "WebDataset | None":
    shards = listing.names(is_tar_name)
    if not shards and not listing.is_samples and options.input_format != WebDataset.format:
        return None
    return WebDataset(folder, listing, options, [listing.files[name] for name in shards])


class WebDataset(FolderSource):
    format = "webdataset"
    images = ImageSource.MEMBERS

    def __init__(self, folder: Folder, listing: Listing, options: ReadOptions, shards: list[Member]) -> None:
        super().__init__(folder, listing, options)
        self.shards = shards

    def details(self) -> dict[str, Any]:
        return {"shards": len(self.shards) or 1, "caption": "key.txt, else a field of key.json"}

    def rows(self) -> Iterator[Pair | Reject]:
        row = 0
        shards: list[Member | None] = [*self.shards] or [None]
        for shard in shards:
            for members in self._samples(shard):
                parts = _parts(members)
                if parts:
                    row += 1
                    yield self._row(row, shard, parts)
        if not row:
            raise FileError("no_samples", f"{self.folder.label} holds no sample. Expected is {EXPECTED}.")

    def _samples(self, shard: Member | None) -> Iterator[list[Member]]:
        members = (self.folder if shard is None else self._open(shard)).members()
        for _, group in groupby(members, key=lambda member: split_key(member.name)[0]):
            yield list(islice(group, MAX_SAMPLE_MEMBERS))

    def _open(self, shard: Member) -> TarFolder:
        return TarFolder(self.folder.plain(shard), self.folder.scratch, shard.name)

    def _row(self, row: int, shard: Member | None, parts: dict[str, Member]) -> Pair | Reject:
        first = min(parts.values(), key=lambda member: member.offset)
        where = split_key(first.name)[0] if shard is None else f"{shard.name}: {split_key(first.name)[0]}"
        return judged(row, first.offset, first.name, lambda: self._pair(row, shard, parts, where))

    def _pair(self, row: int, shard: Member | None, parts: dict[str, Member], where: str) -> Pair:
        for member in parts.values():
            if member.problem is not None:
                raise BadRow("unsafe_member", f"{where}: {member.name} is not read: {member.problem}")
        if "image" not in parts:
            raise BadRow("no_image", f"{where} has {', '.join(parts)}, but no {', '.join(IMAGE_EXTENSIONS)}")
        fields = self._fields(shard, parts, where)
        caption, caption_field = self._caption(shard, parts, fields, where)
        image = parts["image"]
        url_field = _field(fields, self.options.url_column, URL_NAMES)
        url = url_of(fields.get(url_field)) if url_field else None
        if url is None:
            url, url_field = MEMBER_URL + (image.name if shard is None else f"{shard.name}/{image.name}"), None
        label_field = _field(fields, self.options.label_column, LABEL_NAMES)
        others = {name: value for name, value in fields.items() if name not in (url_field, caption_field)}
        others.setdefault("key", split_key(image.name)[0])  # to find the sample again
        label = label_of(fields[label_field]) if label_field else None
        place = self.folder.member_place(image)
        if shard is not None:
            place = self.folder.shard_place(shard, self.folder.plain(shard), image)
        return Pair(row, pair_uid(url, caption), url, caption, extra_of(others, where), label, place)

    def _read(self, shard: Member | None, member: Member, cap: int) -> bytes:
        folder = self.folder if shard is None else self._open(shard)
        return folder.read_place(folder.member_place(member), cap)

    def _fields(self, shard: Member | None, parts: dict[str, Member], where: str) -> dict[str, Any]:
        if "json" not in parts:
            return {}
        if parts["json"].size > MAX_JSON_BYTES:
            raise BadRow("fields_too_long", f"{where}: the .json has {parts['json'].size:,} bytes")
        try:
            fields = json.loads(self._read(shard, parts["json"], MAX_JSON_BYTES))
        except (ValueError, RecursionError) as error:
            raise BadRow("broken_json", f"{where}: {str(error)[:200]}") from None
        if not isinstance(fields, dict):
            raise BadRow("broken_json", f"{where}: the .json holds a {type(fields).__name__}, not an object")
        return fields

    def _caption(
        self, shard: Member | None, parts: dict[str, Member], fields: dict[str, Any], where: str
    ) -> tuple[str, str | None]:
        """The caption, and the field of the .json that it is; what the user names wins over the .txt."""
        name = _field(fields, self.options.caption_column, CAPTION_NAMES)
        if "txt" not in parts or (name is not None and self.options.caption_column is not None):
            return caption_of(fields.get(name) if name else None, where), name
        if parts["txt"].size > MAX_LINE_BYTES:
            raise BadRow("caption_too_long", f"{where}: the .txt has {parts['txt'].size:,} bytes")
        caption = caption_of(self._read(shard, parts["txt"], MAX_LINE_BYTES), where)
        return caption, name if name and fields[name] == caption else None


def _parts(members: list[Member]) -> dict[str, Member]:
    """The image, .txt and .json of a sample; an extension with a further dot counts where there is no plain one."""
    parts: dict[str, Member] = {}
    for plain in (True, False):
        for member in members:
            extension = split_key(member.name)[1]
            kind = extension if plain else extension.rpartition(".")[2]
            if kind in _KNOWN and not member.is_hidden:
                parts.setdefault("image" if kind in IMAGE_EXTENSIONS else kind, member)
    return parts


def _field(fields: dict[str, Any], given: Column, aliases: tuple[str, ...]) -> str | None:
    if isinstance(given, str):
        return given if given in fields else None
    return next((name for name in aliases if name in fields), None)
