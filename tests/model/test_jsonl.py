"""The JSONL reader: one object a line, and whatever else stands there is a Reject with its reason."""

import json
from pathlib import Path

import pytest

from model.data.jsonl import detect, read
from model.data.rows import REASONS, FileError, Pair, Reject
from model.data.source import ReadOptions
from model.data.table_format import TableFormat

URL = "https://example.org/a.jpg"
FORMAT = TableFormat(columns=2, url_column=0, caption_column=1, header=("url", "caption"))
GOOD = json.dumps({"url": URL, "caption": "good"}).encode()


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "pairs.jsonl"


def only(path: Path, line: bytes, fmt: TableFormat = FORMAT) -> Pair | Reject:
    path.write_bytes(line + b"\n")
    (found,) = read(path, fmt)
    return found


def pair_of(path: Path, fmt: TableFormat = FORMAT, **others: object) -> Pair:
    found = only(path, json.dumps({"url": URL, "caption": "a dog", **others}).encode(), fmt)
    assert isinstance(found, Pair)
    return found


class TestRead:
    def test_escaped_text_is_the_text(self, file: Path) -> None:
        caption = 'tab\t "quote" \\ newline\n 👩‍👩‍👧 \ud7ff e\u0301'
        assert pair_of(file, caption=caption).caption == caption

    @pytest.mark.parametrize("end", [b"", b"\r", b"  "])
    def test_spaces_around_the_object_do_not_matter(self, file: Path, end: bytes) -> None:
        assert isinstance(only(file, b" " + GOOD + end), Pair)

    def test_other_fields_are_kept_in_their_order(self, file: Path) -> None:
        pair = pair_of(file, z=[1, {"é": None}], a="x", n=10**30, f=0.1, b=True)
        assert pair.extra == f'{{"z": [1, {{"é": null}}], "a": "x", "n": {10**30}, "f": 0.1, "b": true}}'

    def test_numbers_that_json_does_not_have_become_null(self, file: Path) -> None:
        line = GOOD[:-1] + b', "a": NaN, "b": -Infinity, "c": 1e999}'
        found = only(file, line)
        assert isinstance(found, Pair)
        assert found.extra == '{"a": null, "b": null, "c": null}'

    @pytest.mark.parametrize(
        ("label", "expected"),
        [("dog", "dog"), (7, "7"), (["dog", "grass"], "dog"), ([], None), ("", None), (None, None), ({"a": 1}, None)],
    )
    def test_label_is_text_whatever_it_was(self, file: Path, label: object, expected: str | None) -> None:
        fmt = TableFormat(3, 0, 1, header=("url", "caption", "label"), label_column=2)
        assert pair_of(file, fmt, label=label).label == expected

    def test_line_without_the_label_has_none(self, file: Path) -> None:
        fmt = TableFormat(3, 0, 1, header=("url", "caption", "label"), label_column=2)
        assert pair_of(file, fmt).label is None


class TestRejects:
    @pytest.mark.parametrize(
        ("line", "reason", "words"),
        [
            (b"", "empty_line", "nothing"),
            (b"{", "bad_json", "Expecting"),
            (b"[1, 2]", "bad_json", "list"),
            (b'"text"', "bad_json", "str"),
            (GOOD + GOOD, "bad_json", "Extra data"),
            (b'{"url": "http://h/a", "url": "http://h/b", "caption": "a"}', "bad_json", "'url' occurs twice"),
            (b'{"url": "http://h/a", "caption": "a", "x": {"y": 1, "y": 1}}', "bad_json", "'y' occurs twice"),
            (b'{"a": ' + b"[" * 30_000 + b"]" * 30_000 + b"}", "bad_json", "deep"),
            (b'{"url": "http://h/a", "caption": "a", "n": ' + b"9" * 5_000 + b"}", "bad_json", "digits"),
            (b'{"url": "http://h/a"}', "missing_field", "'caption'"),
            (b'{"caption": "a"}', "missing_field", "'url'"),
            (b'{"url": "http://h/a", "caption": 7}', "not_a_string", "'caption' holds 7"),
            (b'{"url": ["http://h/a"], "caption": "a"}', "not_a_string", "'url'"),
            (b'{"url": "http://h/a", "caption": NaN}', "empty_caption", "empty"),
            (b'{"url": "http://h/a", "caption": null}', "empty_caption", "empty"),
            (b'{"url": null, "caption": "a"}', "empty_url", "empty"),
            (b'{"url": "/etc/passwd", "caption": "a"}', "not_a_url", "passwd"),
            (b'{"url": "http://h/a", "caption": "a\\u0000"}', "nul_byte", "character 1"),
            (b'{"url": "http://h/a", "caption": "a", "x": [{"\\u0000": 1}]}', "nul_byte", "NUL"),
            (b'{"url": "http://h/a", "caption": "a\0"}', "nul_byte", "byte 35"),
            (b'{"url": "http://h/a", "caption": "\\ud800"}', "not_utf8", "surrogate"),
            (b'{"url": "http://h/a", "caption": "a", "x": "\\udfff"}', "not_utf8", "surrogate"),
            (b'{"url": "http://h/a", "caption": "caf\xe9"}', "not_utf8", "0xe9"),
            (b'{"url": "http://h/a", "caption": "' + b"x" * 70_000 + b'"}', "line_too_long", "65,536"),
        ],
    )
    def test_bad_line_has_its_reason_and_its_neighbours_survive(
        self, file: Path, line: bytes, reason: str, words: str
    ) -> None:
        file.write_bytes(GOOD + b"\n" + line + b"\n" + GOOD)
        found = list(read(file, FORMAT))
        assert [type(item) for item in found] == [Pair, Reject, Pair]
        reject = found[1]
        assert isinstance(reject, Reject)
        assert (reject.row, reject.offset, reject.reason) == (2, len(GOOD) + 1, reason)
        assert words in reject.detail
        assert reason in REASONS

    def test_pair_of_surrogates_is_a_character(self, file: Path) -> None:
        found = only(file, b'{"url": "http://h/a", "caption": "\\ud83d\\ude00"}')
        assert isinstance(found, Pair)
        assert found.caption == "😀"


class TestDetect:
    def write(self, path: Path, *records: object) -> Path:
        path.write_text("".join(json.dumps(record) + "\n" for record in records))
        return path

    @pytest.mark.parametrize("url", ["url", "URL", "image_url"])
    @pytest.mark.parametrize("caption", ["caption", "text", "TEXT", "title"])
    def test_names_of_the_field_are_known(self, file: Path, url: str, caption: str) -> None:
        fmt = detect(
            self.write(file, {"page": URL, "x": "a longer text than that", caption: "a", url: URL}), ReadOptions()
        )
        assert (fmt.url_column, fmt.caption_column) == (3, 2)

    def test_fields_need_not_be_in_every_line(self, file: Path) -> None:
        fmt = detect(self.write(file, 7, {"caption": "a"}, {"url": URL, "caption": "b", "label": "c"}), ReadOptions())
        assert fmt.header == ("caption", "url", "label")
        assert (fmt.url_column, fmt.caption_column, fmt.label_column, fmt.has_header) == (1, 0, 2, False)

    def test_fields_can_be_named(self, file: Path) -> None:
        self.write(file, {"link": URL, "words": "a", "caption": "b"})
        fmt = detect(file, ReadOptions(url_column="link", caption_column="words"))
        assert (fmt.url_column, fmt.caption_column) == (0, 1)

    def test_paths_count_when_allowed(self, file: Path) -> None:
        self.write(file, {"filepath": "images/1.jpg", "caption": "a"})
        assert detect(file, ReadOptions(allow_paths=True)).url_column == 0

    @pytest.mark.parametrize(
        ("records", "reason"),
        [
            ([1, 2], "bad_json"),
            ([{"url": URL}], "one_column"),
            ([{}], "one_column"),
            ([{"a": 1, "b": 2}], "no_url_column"),
        ],
    )
    def test_hopeless_file_says_why(self, file: Path, records: list[object], reason: str) -> None:
        with pytest.raises(FileError) as caught:
            detect(self.write(file, *records), ReadOptions())
        assert caught.value.reason == reason
