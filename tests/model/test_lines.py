"""Compressed lines: gzip and zstd by their bytes, members one after another, a clear no where the file is broken."""

import gzip
import hashlib
from collections.abc import Callable
from pathlib import Path

import pytest
import zstandard

from model.data.lines import BLOCK_BYTES, Compression, compression_of, read_lines, sample_lines
from model.data.rows import FileError

LINES = [hashlib.sha256(b"%d" % i).hexdigest().encode() for i in range(20_000)]
TEXT = b"\n".join(LINES)
pack_zstd = zstandard.ZstdCompressor(write_checksum=True).compress
PACKERS: dict[Compression, Callable[[bytes], bytes]] = {"gzip": gzip.compress, "zstd": pack_zstd}

pytestmark = pytest.mark.parametrize("kind", ["gzip", "zstd"])


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "lines.tsv"


def lines_of(path: Path, kind: Compression) -> list[bytes]:
    return [line for _, _, line in read_lines(path, kind)]


class TestReadLines:
    def test_members_one_after_another_are_one_text(self, file: Path, kind: Compression) -> None:
        pack = PACKERS[kind]
        file.write_bytes(pack(TEXT[:100_001]) + pack(b"") + pack(TEXT[100_001:]))
        assert compression_of(file) == kind
        assert lines_of(file, kind) == LINES

    @pytest.mark.parametrize("cut", [1, 3, 5_000, 400_000])
    def test_cut_short_names_the_last_good_line(self, file: Path, kind: Compression, cut: int) -> None:
        file.write_bytes(PACKERS[kind](TEXT)[:-cut])
        seen: list[bytes] = []
        with pytest.raises(FileError) as caught:
            seen.extend(line for _, _, line in read_lines(file, kind))
        assert caught.value.reason == f"{kind}_cut_short"
        assert f"after line {len(seen):,}" in str(caught.value)
        assert seen == LINES[: len(seen)]
        assert len(seen) >= 20_000 - (cut * 2 + BLOCK_BYTES + 200_000) // 65

    def test_cut_between_two_members_cannot_be_seen(self, file: Path, kind: Compression) -> None:
        file.write_bytes(PACKERS[kind](TEXT[:100]))
        assert lines_of(file, kind) == TEXT[:100].split(b"\n")

    def test_flipped_bit_is_corrupt(self, file: Path, kind: Compression) -> None:
        packed = bytearray(PACKERS[kind](TEXT))
        packed[len(packed) // 2] ^= 0x10
        file.write_bytes(packed)
        with pytest.raises(FileError, match=f"Check it with `{kind} -t`") as caught:
            lines_of(file, kind)
        assert caught.value.reason == f"{kind}_corrupt"

    def test_garbage_after_the_end_is_corrupt(self, file: Path, kind: Compression) -> None:
        file.write_bytes(PACKERS[kind](TEXT) + b"garbage")
        with pytest.raises(FileError) as caught:
            lines_of(file, kind)
        assert caught.value.reason == f"{kind}_corrupt"

    def test_nothing_inside_is_empty(self, file: Path, kind: Compression) -> None:
        file.write_bytes(PACKERS[kind](b""))
        with pytest.raises(FileError) as caught:
            lines_of(file, kind)
        assert caught.value.reason == "empty_file"

    def test_twice_compressed_is_explained(self, file: Path, kind: Compression) -> None:
        pack = PACKERS[kind]
        file.write_bytes(pack(pack(TEXT)))
        with pytest.raises(FileError, match="compressed twice"):
            lines_of(file, kind)

    def test_a_bomb_is_not_unpacked_in_memory(self, file: Path, kind: Compression) -> None:
        file.write_bytes(PACKERS[kind](bytes(50_000_000) + b"\nend"))
        found = lines_of(file, kind)
        assert [len(line) for line in found] == [65_537, 3]


class TestSampleLines:
    def test_sample_stops_after_enough_bytes(self, file: Path, kind: Compression) -> None:
        file.write_bytes(PACKERS[kind]((b"x" * 60_000 + b"\n") * 200))
        assert 60 < len(sample_lines(file, kind)) < 80
