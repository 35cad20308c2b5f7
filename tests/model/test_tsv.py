"""The TSV reader: every line is accounted for, nothing is changed, a bad file says what is wrong with it."""

import gzip
import hashlib
import tracemalloc
from collections.abc import Iterator
from pathlib import Path
from unittest.mock import patch

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from model.data import lines
from model.data.lines import compression_of
from model.data.rows import MAX_LINE_BYTES, REASONS, FileError, Pair, Reject, pair_uid
from model.data.source import ReadOptions
from model.data.tsv import TsvFormat, detect, read, rebuild

URL = "https://example.org/a.jpg"
CC12M = TsvFormat(columns=2, url_column=0, caption_column=1)
CC3M = TsvFormat(columns=2, url_column=1, caption_column=0)

# What a cell may hold: anything but the separators, NUL and lone surrogates (which UTF-8 has not).
cells = st.text(st.characters(codec="utf-8", exclude_characters="\t\n\r\0"), max_size=40)
captions = (
    cells | st.sampled_from(['"stray quote', "emoji 👩‍👩‍👧", "עברית עם English", "e\u0301 o\u0308", " kept "])
).filter(str.strip)


@pytest.fixture(scope="module")
def scratch(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """One file that the property tests overwrite."""
    return tmp_path_factory.mktemp("tsv") / "property.tsv"


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "pairs.tsv"


def results(path: Path, data: bytes, fmt: TsvFormat = CC12M, *, allow_paths: bool = False) -> list[Pair | Reject]:
    path.write_bytes(data)
    return list(read(path, fmt, allow_paths=allow_paths))


def only_reject(path: Path, data: bytes, fmt: TsvFormat = CC12M) -> Reject:
    (found,) = results(path, data, fmt)
    assert isinstance(found, Reject)
    return found


def pairs_of(found: list[Pair | Reject]) -> Iterator[Pair]:
    return (item for item in found if isinstance(item, Pair))


class TestRead:
    def test_url_first_and_caption_first_give_the_same_pair(self, file: Path) -> None:
        first = results(file, f"{URL}\ta dog\n".encode(), CC12M)
        second = results(file, f"a dog\t{URL}\n".encode(), CC3M)
        assert first == second == [Pair(1, pair_uid(URL, "a dog"), URL, "a dog", None)]

    def test_last_line_without_newline_counts(self, file: Path) -> None:
        assert [pair.row for pair in results(file, f"{URL}\tone\n{URL}\ttwo".encode())] == [1, 2]

    def test_crlf_is_stripped_and_an_inner_carriage_return_is_kept(self, file: Path) -> None:
        found = results(file, f"{URL}\tone\r\n{URL}\tt\rwo\r\n".encode())
        assert [pair.caption for pair in pairs_of(found)] == ["one", "t\rwo"]

    def test_bom_is_stripped_and_offsets_stay_those_of_the_file(self, file: Path) -> None:
        found = results(file, b"\xef\xbb\xbf" + f"{URL}\tone\nbroken\n".encode())
        assert isinstance(found[0], Pair)
        assert found[0].url == URL
        assert isinstance(found[1], Reject)
        assert file.read_bytes()[found[1].offset :] == b"broken\n"

    def test_a_stray_quote_swallows_nothing(self, file: Path) -> None:
        found = results(file, f'{URL}\t"a 12 inch\n{URL}\tb\n{URL}\tc"\n'.encode())
        assert [pair.caption for pair in pairs_of(found)] == ['"a 12 inch', "b", 'c"']

    def test_captions_keep_their_spaces(self, file: Path) -> None:
        (pair,) = results(file, f"{URL}\t  a  dog \n".encode())
        assert isinstance(pair, Pair)
        assert pair.caption == "  a  dog "

    def test_unicode_line_separators_do_not_split_a_line(self, file: Path) -> None:
        (pair,) = results(file, f"{URL}\tone\u2028two\x0bthree\x85four\n".encode())
        assert isinstance(pair, Pair)
        assert pair.caption == "one\u2028two\x0bthree\x85four"

    def test_duplicate_lines_keep_their_rows_and_share_the_uid(self, file: Path) -> None:
        found = list(pairs_of(results(file, f"{URL}\ta\n".encode() * 3)))
        assert [pair.row for pair in found] == [1, 2, 3]
        assert len({pair.uid for pair in found}) == 1

    def test_header_gives_no_row_but_is_counted(self, file: Path) -> None:
        fmt = TsvFormat(2, 0, 1, has_header=True, header=("url", "caption"))
        found = results(file, f"url\tcaption\n{URL}\ta\n".encode(), fmt)
        assert [pair.row for pair in found] == [2]

    def test_gzip_gives_the_same_as_plain(self, file: Path) -> None:
        data = b"".join(f"{URL}?{i}\tcaption {i}\n".encode() for i in range(5_000)) + b"broken\n"
        plain = results(file, data)
        packed = results(file, gzip.compress(data[:999]) + gzip.compress(data[999:]), detect_gzip(file, data))
        assert packed == plain
        assert len(plain) == 5_001

    def test_extra_columns_are_kept_in_order(self, file: Path) -> None:
        (pair,) = results(file, f"7\ta dog\t{URL}\t\tx y\n".encode(), TsvFormat(5, url_column=2, caption_column=1))
        assert isinstance(pair, Pair)
        assert pair.extra == "7\t\tx y"

    @pytest.mark.parametrize(
        ("cell", "is_list", "label"),
        [
            ("dog", False, "dog"),
            (' a "dog", 🐕 ', False, ' a "dog", 🐕 '),
            ("dog,grass", False, "dog,grass"),
            ("dog,grass", True, "dog"),
            (" dog , grass", True, " dog "),
            ("", False, None),
            ("  ", False, None),
            (",grass", True, None),
        ],
    )
    def test_label_is_kept_as_it_stands_and_the_line_too(
        self, file: Path, cell: str, is_list: bool, label: str | None
    ) -> None:
        fmt = TsvFormat(3, url_column=0, caption_column=1, label_column=2, is_label_list=is_list)
        line = f"{URL}\ta dog\t{cell}"
        (pair,) = results(file, f"{line}\n".encode(), fmt)
        assert isinstance(pair, Pair)
        assert pair.label == label
        assert rebuild(pair.url, pair.caption, pair.extra, fmt) == line

    def test_paths_are_taken_only_when_allowed(self, file: Path) -> None:
        data = b"images/my dog.JPG\ta dog\n"
        assert isinstance(results(file, data)[0], Reject)
        assert isinstance(results(file, data, allow_paths=True)[0], Pair)

    def test_memory_stays_bounded_over_a_huge_line(self, file: Path) -> None:
        with file.open("wb") as out:
            for _ in range(64):
                out.write(b"x" * (1 << 20))
            out.write(f"\n{URL}\tafter\n".encode())
        tracemalloc.start()
        found = list(read(file, CC12M))
        _, peak = tracemalloc.get_traced_memory()
        tracemalloc.stop()
        assert [type(item) for item in found] == [Reject, Pair]
        assert found[1].row == 2
        assert peak < 8 << 20


def detect_gzip(path: Path, data: bytes) -> TsvFormat:
    path.write_bytes(gzip.compress(data))
    return detect(path, ReadOptions())


class TestReadRejects:
    @pytest.mark.parametrize(
        ("line", "reason"),
        [
            (b"", "empty_line"),
            (b"\r", "empty_line"),
            (b"no tab at all", "too_few_columns"),
            (f"{URL}\ta dog\tand more".encode(), "too_many_columns"),
            (b"\ta dog", "empty_url"),
            (b"  \ta dog", "empty_url"),
            (f"{URL}\t".encode(), "empty_caption"),
            (f"{URL}\t \u00a0 ".encode(), "empty_caption"),
            (b"ftp://example.org/a.jpg\ta dog", "not_a_url"),
            (f"{URL}\tcaf\xe9".encode("latin-1"), "not_utf8"),
            (f"{URL}\ta\0b".encode(), "nul_byte"),
            (f"{URL}\t".encode() + b"x" * 1_000_000, "line_too_long"),
        ],
    )
    def test_bad_line_has_its_reason_and_its_neighbours_survive(self, file: Path, line: bytes, reason: str) -> None:
        good = f"{URL}\tgood\n".encode()
        found = results(file, good + line + b"\n" + good)
        assert [type(item) for item in found] == [Pair, Reject, Pair]
        reject = found[1]
        assert isinstance(reject, Reject)
        assert (reject.row, reject.offset, reject.reason) == (2, len(good), reason)
        assert reject.detail
        assert reason in REASONS

    def test_the_cap_is_exact(self, file: Path) -> None:
        fits = f"{URL}\t".encode().ljust(MAX_LINE_BYTES, b"x")
        found = results(file, fits + b"\n" + fits + b"x\n" + fits + b"x")
        assert [type(item) for item in found] == [Pair, Reject, Reject]
        assert [item.reason for item in found if isinstance(item, Reject)] == ["line_too_long"] * 2

    def test_text_is_short_and_can_be_stored(self, file: Path) -> None:
        reject = only_reject(file, b"\0\xff" + "é".encode() * 500 + b"\n")
        assert reject.text == "\ufffd\ufffd" + "é" * 198

    def test_detail_points_at_the_bad_byte(self, file: Path) -> None:
        assert "0xe9 at byte 3" in only_reject(file, b"caf\xe9\n").detail


class TestReadFileErrors:
    @pytest.mark.parametrize(
        ("data", "reason"),
        [
            (b"", "empty_file"),
            (b"\xef\xbb\xbf", "empty_file"),
            (gzip.compress(b"", mtime=0), "empty_file"),
            ("url\tcaption".encode("utf-16"), "utf16"),
            (b"\xfe\xff" + "url\tcaption".encode("utf-16-be"), "utf16"),
            ("url\tcaption".encode("utf-32"), "utf32"),
            (b"\x00\x00\xfe\xff" + "url\tcaption".encode("utf-32-be"), "utf32"),
            (b"PK\x03\x04rest of a zip archive", "not_text"),
            (b"\x1f\x8b", "gzip_cut_short"),
            (b"\x1f\x8bnot gzip after all, though it begins like it", "gzip_corrupt"),
        ],
    )
    def test_unreadable_file_is_refused_by_both_functions(self, file: Path, data: bytes, reason: str) -> None:
        file.write_bytes(data)
        with pytest.raises(FileError) as from_detect:
            detect(file, ReadOptions())
        with pytest.raises(FileError) as from_read:
            list(read(file, TsvFormat(2, 0, 1, compression=compression_of(file))))
        assert from_detect.value.reason == from_read.value.reason == reason

    def test_gzip_cut_short_gives_what_came_before_and_names_the_line(self, file: Path) -> None:
        text = b"".join(f"{URL}?{hashlib.sha256(b'%d' % i).hexdigest()}\tc {i}\n".encode() for i in range(5_000))
        file.write_bytes(gzip.compress(text)[:-2_000])
        seen: list[Pair | Reject] = []
        with pytest.raises(FileError) as caught:
            seen.extend(read(file, TsvFormat(2, 0, 1, compression="gzip")))
        assert caught.value.reason == "gzip_cut_short"
        assert 0 < len(seen) < 5_000
        assert f"line {len(seen):,}" in str(caught.value)

    def test_gzip_with_a_flipped_byte_is_corrupt(self, file: Path) -> None:
        packed = bytearray(gzip.compress(f"{URL}\ta dog\n".encode() * 100))
        packed[-6] ^= 0xFF  # in the checksum
        file.write_bytes(packed)
        with pytest.raises(FileError, match="corrupt") as caught:
            list(read(file, TsvFormat(2, 0, 1, compression="gzip")))
        assert caught.value.reason == "gzip_corrupt"


class TestReadProperties:
    @settings(deadline=None)
    @given(data=st.lists(st.binary(max_size=60) | st.just(f"{URL}\tx".encode())), header=st.booleans())
    def test_every_line_is_accounted_for(self, scratch: Path, data: list[bytes], header: bool) -> None:
        content = b"start\n" + b"\n".join(data)  # the first bytes must not be a byte order mark
        expected = content.removesuffix(b"\n").count(b"\n") + 1
        found = results(scratch, content, TsvFormat(2, 0, 1, has_header=header))
        assert [item.row for item in found] == list(range(1 + header, expected + 1))
        assert all(item.reason in REASONS for item in found if isinstance(item, Reject))

    @settings(deadline=None)
    @given(
        parts=st.lists(st.sampled_from([b"\n", b"x" * 7, b"y" * 40, b"\r\n", f"{URL}\ta".encode(), "é".encode()])),
        block=st.integers(1, 50),
    )
    def test_result_does_not_depend_on_where_blocks_end(self, scratch: Path, parts: list[bytes], block: int) -> None:
        content = b"start\n" + b"".join(parts)
        with patch.object(lines, "MAX_LINE_BYTES", 32), patch("model.data.checks.MAX_LINE_BYTES", 32):
            whole = results(scratch, content)
            with patch.object(lines, "BLOCK_BYTES", block):
                assert results(scratch, content) == whole
        for item in whole:
            if isinstance(item, Reject):
                assert item.offset == 0 or content[item.offset - 1 : item.offset] == b"\n"

    @settings(deadline=None)
    @given(caption=captions, others=st.lists(cells, max_size=3), data=st.data())
    def test_a_line_is_rebuilt_byte_for_byte(
        self, scratch: Path, caption: str, others: list[str], data: st.DataObject
    ) -> None:
        columns = len(others) + 2
        url_column, caption_column = data.draw(st.permutations(range(columns)))[:2]
        fmt = TsvFormat(columns, url_column, caption_column)
        line = rebuild(URL, caption, "\t".join(others) if others else None, fmt)
        (pair,) = results(scratch, line.encode() + b"\n", fmt)
        assert isinstance(pair, Pair)
        assert (pair.url, pair.caption) == (URL, caption)
        assert rebuild(pair.url, pair.caption, pair.extra, fmt) == line
