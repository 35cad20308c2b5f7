"""What the columns of a TSV are, from its first lines."""

import gzip
import hashlib
import json
from pathlib import Path
from typing import Any

import pytest

from model.data.rows import FileError
from model.data.source import ReadOptions
from model.data.tsv import TsvFormat
from model.data.tsv import detect as detect_with

URL = "https://example.org/a.jpg"
CC12M = TsvFormat(columns=2, url_column=0, caption_column=1)
CC3M = TsvFormat(columns=2, url_column=1, caption_column=0)


def detect(path: Path, **options: Any) -> TsvFormat:
    return detect_with(path, ReadOptions(**options))


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "pairs.tsv"


class TestDetect:
    def write(self, path: Path, *rows: str) -> Path:
        path.write_text("".join(row + "\n" for row in rows), encoding="utf-8", newline="")
        return path

    def test_cc3m_order(self, file: Path) -> None:
        assert detect(self.write(file, f"a dog\t{URL}", f"a cat\t{URL}")) == CC3M

    def test_cc12m_order(self, file: Path) -> None:
        assert detect(self.write(file, f"{URL}\ta dog", f"{URL}\ta cat")) == CC12M

    def test_captions_that_hold_a_url_now_and_then_do_not_mislead(self, file: Path) -> None:
        rows = [f"https://example.org/{i}\t{URL}" for i in range(3)] + [f"a dog {i}\t{URL}" for i in range(9)]
        assert detect(self.write(file, *rows)) == CC3M

    def test_header_is_found_and_names_the_columns(self, file: Path) -> None:
        fmt = detect(self.write(file, "TEXT\tURL", f"a dog\t{URL}"))
        assert fmt == TsvFormat(2, 1, 0, has_header=True, header=("TEXT", "URL"))

    def test_bad_first_row_is_no_header(self, file: Path) -> None:
        for first in ("htp:/example.org/a.jpg\ta dog", "\ta dog", "a dog", "", f"{URL}\ta\tb"):
            assert not detect(self.write(file, first, f"{URL}\ta cat")).has_header

    def test_header_can_be_forced_either_way(self, file: Path) -> None:
        self.write(file, "x\ty", f"{URL}\ta dog")
        assert detect(file, header=False).header is None
        self.write(file, f"{URL}\ta dog", f"{URL}\ta cat")
        assert detect(file, header=True).header == (URL, "a dog")

    def test_five_columns_of_the_labels_subset(self, file: Path) -> None:
        row = f"a dog on grass\t{URL}\tdog,grass,running,animal,mammal\t/m/0bt9lr,/m/08t9c_\t0.98,0.97,0.91"
        fmt = TsvFormat(5, url_column=1, caption_column=0, label_column=2, is_label_list=True)
        assert detect(self.write(file, row, row)) == fmt

    @pytest.mark.parametrize(
        "row",
        [
            f"a dog on grass\t{URL}\tdog,grass\tnot an id\t0.98,0.97",
            f"a dog on grass\t{URL}\tdog,grass\t/m/0bt9lr,/m/08t9c_\tvery sure",
            f"dog,grass\ta dog on grass\t{URL}\t/m/0bt9lr\t0.98",
            f"a dog on grass\t{URL}\tdog\t/m/0bt9lr",
        ],
    )
    def test_other_columns_are_no_labels(self, file: Path, row: str) -> None:
        assert detect(self.write(file, row, row)).label_column is None

    @pytest.mark.parametrize("name", ["label", "Category", " class "])
    def test_label_is_known_by_its_name(self, file: Path, name: str) -> None:
        fmt = detect(self.write(file, f"id\tcaption\turl\t{name}", f"7\ta dog\t{URL}\tanimals, pets"))
        assert (fmt.label_column, fmt.is_label_list) == (3, False)

    def test_labels_in_the_plural_are_a_list(self, file: Path) -> None:
        fmt = detect(self.write(file, "caption\turl\tlabels", f"a dog\t{URL}\tdog,grass"))
        assert (fmt.label_column, fmt.is_label_list) == (2, True)

    @pytest.mark.parametrize("label", [0, "0", "kind"])
    def test_label_column_can_be_given(self, file: Path, label: int | str) -> None:
        self.write(file, "kind\tcaption\turl\tlabel", f"dog\ta dog\t{URL}\tx")
        assert detect(file, label_column=label).label_column == 0

    def test_column_named_label_may_be_the_caption_where_the_caller_says_so(self, file: Path) -> None:
        fmt = detect(self.write(file, "url\tlabel", f"{URL}\ta dog"), caption_column="label")
        assert (fmt.caption_column, fmt.label_column) == (1, None)

    def test_longest_text_is_the_caption_when_nothing_is_named(self, file: Path) -> None:
        row = f"0001\tshort title\t{URL}\ta longer sentence about a dog\t{hashlib.sha256(b'').hexdigest()}"
        assert detect(self.write(file, row, row)).caption_column == 3

    def test_names_win_over_looks(self, file: Path) -> None:
        header = "page\timage_url\ttitle\tremarks"
        row = f"https://example.org/page\t{URL}\ta dog\ta very long remark about this pair"
        fmt = detect(self.write(file, header, row, row))
        assert (fmt.url_column, fmt.caption_column) == (1, 2)

    @pytest.mark.parametrize(("url", "caption"), [(2, 0), ("2", "0"), ("Link", "words"), ("url", "caption")])
    def test_columns_can_be_given(self, file: Path, url: int | str, caption: int | str) -> None:
        names = "text\tx\timage_url" if url == "url" else "words\tx\tLink"
        self.write(file, names, f"a dog\thttps://example.org/\t{URL}")
        fmt = detect(file, url_column=url, caption_column=caption, header=True)
        assert (fmt.url_column, fmt.caption_column) == (2, 0)

    def test_most_common_width_is_the_width(self, file: Path) -> None:
        assert detect(self.write(file, f"{URL}\ta\tb", f"{URL}\ta", "x", f"{URL}\tb")).columns == 2

    def test_gzip_is_known_by_its_bytes(self, file: Path) -> None:
        file.write_bytes(gzip.compress(f"{URL}\ta dog\n".encode()))
        assert detect(file).compression == "gzip"

    def test_paths_count_as_urls_when_allowed(self, file: Path) -> None:
        self.write(file, "a dog\timages/1.jpg", "a cat\timages/2.jpg")
        assert detect(file, allow_paths=True) == CC3M
        with pytest.raises(FileError, match="looks like a URL"):
            detect(file)

    @pytest.mark.parametrize(
        ("content", "options", "reason"),
        [
            ("one\ntwo\n", {}, "one_column"),
            ("a\tb\nc\td\n", {}, "no_url_column"),
            (f"{URL}\ta\n", {"url_column": 2}, "no_such_column"),
            (f"{URL}\ta\n", {"url_column": -1}, "no_such_column"),
            (f"{URL}\ta\n", {"url_column": "link", "header": False}, "no_such_column"),
            (f"url\tcaption\n{URL}\ta\n", {"url_column": "link"}, "no_such_column"),
            (f"{URL}\ta\n", {"url_column": 0, "caption_column": 0}, "same_column"),
            (f"{URL}\ta\n", {"label_column": 1}, "same_column"),
            (f"{URL}\ta\n", {"label_column": 2}, "no_such_column"),
            (f"url\n{URL}\ta\n{URL}\tb\n", {"header": True}, "bad_header"),
            (f"url\0\tcaption\n{URL}\ta\n", {}, "bad_header"),
        ],
    )
    def test_hopeless_file_or_wrong_choice_says_why(
        self, file: Path, content: str, options: dict[str, int | str], reason: str
    ) -> None:
        file.write_text(content)
        with pytest.raises(FileError) as caught:
            detect(file, **options)
        assert caught.value.reason == reason

    def test_utf16_without_a_mark_is_explained(self, file: Path) -> None:
        file.write_bytes(f"{URL}\ta dog\n{URL}\ta cat\n".encode("utf-16-le"))
        with pytest.raises(FileError, match="UTF-16"):
            detect(file)


class TestTsvFormat:
    @pytest.mark.parametrize("fmt", [CC3M, TsvFormat(3, 1, 2, True, ("a", "b", "c"), "gzip", 0, True)])
    def test_survives_json(self, fmt: TsvFormat) -> None:
        assert TsvFormat.from_dict(json.loads(json.dumps(fmt.to_dict()))) == fmt

    def test_what_else_a_source_describes_is_left_aside(self) -> None:
        assert TsvFormat.from_dict({"format": "tsv", "images": "urls", **CC3M.to_dict()}) == CC3M

    def test_one_stored_before_labels_were_known_is_read(self) -> None:
        stored = CC3M.to_dict()
        del stored["label_column"], stored["is_label_list"]
        assert TsvFormat.from_dict(stored) == CC3M

    @pytest.mark.parametrize("label", [0, 1, 3, -1])
    def test_impossible_label_is_refused(self, label: int) -> None:
        with pytest.raises(ValueError, match="cannot be the label"):
            TsvFormat(3, 0, 1, label_column=label)

    @pytest.mark.parametrize(("url", "caption"), [(0, 0), (2, 0), (0, -1)])
    def test_impossible_columns_are_refused(self, url: int, caption: int) -> None:
        with pytest.raises(ValueError, match="column"):
            TsvFormat(2, url, caption)


class TestNames:
    def test_caption_comes_before_text_and_title(self, tmp_path: Path) -> None:
        path = tmp_path / "pairs.tsv"
        path.write_text("url\ttitle\tcaption\nhttp://a.com/1\tx\ta dog\n")
        assert detect_with(path, ReadOptions()).caption_column == 2

    def test_list_of_labels_is_one_also_where_its_column_is_named(self, tmp_path: Path) -> None:
        path = tmp_path / "pairs.tsv"
        path.write_text("a dog\thttp://a.com/1\tdog,cat\t/m/0bt9lr,/m/01yrx\t0.9,0.5\n" * 3)
        assert detect_with(path, ReadOptions(label_column=2)) == detect_with(path, ReadOptions())


class TestLineEnds:
    def test_carriage_returns_alone_are_refused_with_what_to_do(self, tmp_path: Path) -> None:
        path = tmp_path / "pairs.tsv"
        path.write_bytes(b"a dog\thttp://a.com/1\ra cat\thttp://a.com/2\ra cow\thttp://a.com/3\r")
        with pytest.raises(FileError, match="CR alone"):
            detect_with(path, ReadOptions())
