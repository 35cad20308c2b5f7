"""The CSV reader: RFC 4180 where the file keeps to it, and no line lost where it does not."""

from pathlib import Path

import pytest

from model.data.csv_table import MAX_RECORD_LINES, detect, read
from model.data.rows import MAX_LINE_BYTES, REASONS, FileError, Pair, Reject
from model.data.source import ReadOptions
from model.data.table_format import TableFormat

URL = "https://example.org/a,b.jpg?x=1;y=2"
QUOTED_URL = f'"{URL}"'
PLAIN = "https://example.org/a.jpg"
FORMAT = TableFormat(columns=2, url_column=0, caption_column=1, delimiter=",")


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "pairs.csv"


def results(path: Path, text: str, fmt: TableFormat = FORMAT) -> list[Pair | Reject]:
    path.write_bytes(text.encode())
    return list(read(path, fmt))


def captions(found: list[Pair | Reject]) -> list[tuple[int, str]]:
    """Row and caption of a pair, row and reason of a reject."""
    return [(item.row, item.caption if isinstance(item, Pair) else item.reason) for item in found]


class TestRead:
    @pytest.mark.parametrize(
        ("cell", "caption"),
        [
            ("a dog", "a dog"),
            ('"a dog, running"', "a dog, running"),
            ('"the ""big"" dog"', 'the "big" dog'),
            ('""""', '"'),
            ('a 5" screen', 'a 5" screen'),
            (' "not at the start"', ' "not at the start"'),
            ('"two\nlines"', "two\nlines"),
            ('"two\r\nlines, kept"', "two\r\nlines, kept"),
            ("in\rside", "in\rside"),
            ("=1+1", "=1+1"),
        ],
    )
    def test_cells_are_read_as_the_standard_says(self, file: Path, cell: str, caption: str) -> None:
        for end in ("\n", "\r\n", ""):
            assert captions(results(file, f"{QUOTED_URL},{cell}{end}")) == [(1, caption)]

    def test_rows_are_numbered_by_the_first_line_of_the_record(self, file: Path) -> None:
        found = results(file, f'{PLAIN},"one\ntwo\nthree"\n{PLAIN},four\n')
        assert captions(found) == [(1, "one\ntwo\nthree"), (4, "four")]

    def test_semicolons_may_separate(self, file: Path) -> None:
        fmt = TableFormat(2, 0, 1, delimiter=";")
        assert captions(results(file, f'{PLAIN};"a; b"\n{PLAIN};a, b\n', fmt)) == [(1, "a; b"), (2, "a, b")]

    def test_other_columns_are_a_json_object(self, file: Path) -> None:
        header = ("id", "url", "id", "caption")
        fmt = TableFormat(4, 1, 3, has_header=True, header=header, delimiter=",")
        (pair,) = results(file, f'id,url,id,caption\n"a ""b""",{PLAIN},é,a dog\n', fmt)
        assert isinstance(pair, Pair)
        assert pair.extra == '{"id": "a \\"b\\"", "id_2": "é"}'

    def test_other_columns_without_a_header_are_numbered(self, file: Path) -> None:
        (pair,) = results(file, f"{PLAIN},a dog,7\n", TableFormat(3, 0, 1, delimiter=","))
        assert isinstance(pair, Pair)
        assert pair.extra == '{"column_2": "7"}'

    def test_label_is_read(self, file: Path) -> None:
        (pair,) = results(file, f'{PLAIN},a dog,"dog,grass"\n', TableFormat(3, 0, 1, label_column=2, delimiter=","))
        assert isinstance(pair, Pair)
        assert pair.label == "dog,grass"


class TestStrayQuotes:
    def test_quote_that_never_closes_costs_one_line(self, file: Path) -> None:
        found = results(file, f'{PLAIN},"a 12 inch\n{PLAIN},b\n{PLAIN},c\n')
        assert captions(found) == [(1, "unbalanced_quote"), (2, "b"), (3, "c")]

    def test_quote_that_another_stray_one_seems_to_close_costs_one_line_each(self, file: Path) -> None:
        found = results(file, f'{PLAIN},"a 12 inch\n{PLAIN},b\n{PLAIN},"c\n{PLAIN},d\n')
        assert captions(found) == [(1, "unbalanced_quote"), (2, "b"), (3, "unbalanced_quote"), (4, "d")]

    def test_record_of_several_lines_that_is_no_pair_gives_its_lines_back(self, file: Path) -> None:
        found = results(file, f'"a 12 inch,{PLAIN}\n{PLAIN},b\n{PLAIN},c",d\n{PLAIN},e\n')
        assert captions(found) == [(1, "unbalanced_quote"), (2, "b"), (3, "too_many_columns"), (4, "e")]

    def test_text_after_a_closing_quote_is_refused(self, file: Path) -> None:
        found = results(file, f'{PLAIN},"a" dog\n{PLAIN},b\n')
        assert captions(found) == [(1, "unbalanced_quote"), (2, "b")]
        assert isinstance(found[0], Reject)
        assert "follows the closing quote" in found[0].detail

    @pytest.mark.parametrize(("lines", "is_read"), [(MAX_RECORD_LINES, True), (MAX_RECORD_LINES + 1, False)])
    def test_limit_of_lines_is_exact(self, file: Path, lines: int, is_read: bool) -> None:
        found = results(file, f'{PLAIN},"' + "\n".join(["x"] * lines) + f'"\n{PLAIN},after\n')
        assert isinstance(found[0], Pair) is is_read
        assert captions(found)[-1] == (lines + 1, "after")
        assert len(found) == (2 if is_read else lines + 1)

    @pytest.mark.parametrize(("excess", "is_read"), [(0, True), (1, False)])
    def test_limit_of_bytes_is_exact(self, file: Path, excess: int, is_read: bool) -> None:
        start = f'{PLAIN},"one\n'
        size = MAX_LINE_BYTES - len(start) - 1 + excess
        found = results(file, start + "x" * size + f'"\n{PLAIN},after\n')
        assert isinstance(found[0], Pair) is is_read
        assert captions(found)[-1] == (3, "after")


class TestRejects:
    @pytest.mark.parametrize(
        ("line", "reason"),
        [
            (b"", "empty_line"),
            (b"no comma", "too_few_columns"),
            (f"{PLAIN},a,b".encode(), "too_many_columns"),
            (b",a dog", "empty_url"),
            (f'{PLAIN},""'.encode(), "empty_caption"),
            (b"ftp://example.org/a.jpg,a dog", "not_a_url"),
            (f"{PLAIN},caf\xe9".encode("latin-1"), "not_utf8"),
            (f'{PLAIN},"a\0b"'.encode(), "nul_byte"),
            (f"{PLAIN},".encode() + b"x" * 100_000, "line_too_long"),
            (f'{PLAIN},"open'.encode(), "unbalanced_quote"),
        ],
    )
    def test_bad_line_has_its_reason_and_its_neighbours_survive(self, file: Path, line: bytes, reason: str) -> None:
        good = f'{PLAIN},"a, b"\n'.encode()
        file.write_bytes(good + line + b"\n" + good)
        found = list(read(file, FORMAT))
        assert captions(found) == [(1, "a, b"), (2, reason), (3, "a, b")]
        assert isinstance(found[1], Reject)
        assert found[1].offset == len(good)
        assert reason in REASONS


class TestDetect:
    @pytest.mark.parametrize(
        ("text", "delimiter", "header"),
        [
            (f"{PLAIN},a dog\n{PLAIN},a cat\n", ",", None),
            (f"{PLAIN};a dog\n{PLAIN};a cat, a dog, a bird\n", ";", None),
            (f'"url","caption"\n"{PLAIN}","a dog; big"\n', ",", ("url", "caption")),
            (f'url;TEXT\n{PLAIN};"a\nb"\n', ";", ("url", "TEXT")),
        ],
    )
    def test_delimiter_and_header_are_found(
        self, file: Path, text: str, delimiter: str, header: tuple[str, ...] | None
    ) -> None:
        file.write_text(text)
        fmt = detect(file, ReadOptions())
        assert (fmt.delimiter, fmt.header, fmt.has_header) == (delimiter, header, header is not None)
        assert (fmt.url_column, fmt.caption_column) == (0, 1)

    def test_columns_can_be_named(self, file: Path) -> None:
        file.write_text(f"link,words,caption\n{PLAIN},the right one,the wrong one\n")
        fmt = detect(file, ReadOptions(url_column="link", caption_column="words"))
        assert (fmt.url_column, fmt.caption_column) == (0, 1)

    def test_one_column_is_refused_with_what_is_missing(self, file: Path) -> None:
        file.write_text("a dog\na cat\n")
        with pytest.raises(FileError, match="has a comma"):
            detect(file, ReadOptions())
