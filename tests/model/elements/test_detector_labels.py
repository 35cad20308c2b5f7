from pathlib import Path

import pytest

from model.elements.detector import DetectorError
from model.elements.detector_labels import LONGEST_NAME, MOST_BYTES, MOST_LABELS, read_labels


class TestReadLabels:
    @pytest.mark.parametrize(
        ("content", "names"),
        [
            (b"nothing\ndog\n", ("nothing", "dog")),
            (b"\xef\xbb\xbfnothing\r\n traffic light \r\n\r\n", ("nothing", "traffic light")),
            (b"\n\ndog", ("", "", "dog")),
            ("Straße".encode(), ("Straße",)),
        ],
    )
    def test_every_line_is_a_name(self, tmp_path: Path, content: bytes, names: tuple[str, ...]) -> None:
        (tmp_path / "d.labels.txt").write_bytes(content)
        assert read_labels(tmp_path / "d.labels.txt") == names

    @pytest.mark.parametrize(
        ("content", "message"),
        [
            (b"", "is empty; write the name"),
            (b" \n\r\n\t\n", "is empty; write the name"),
            (b"dog\n\xff\xfe", "no text in UTF-8"),
            (b"dog\nc\0t", "line 2"),
            (b"d" * (LONGEST_NAME + 1), "line 1"),
            (b"dog\n" * (MOST_LABELS + 1), "more than 10,000 lines"),
            (b"d" * (MOST_BYTES + 100), "line 1"),
        ],
    )
    def test_what_is_no_list_of_names_is_refused(self, tmp_path: Path, content: bytes, message: str) -> None:
        (tmp_path / "d.labels.txt").write_bytes(content)
        with pytest.raises(DetectorError, match=message):
            read_labels(tmp_path / "d.labels.txt")

    def test_missing_file_is_named(self, tmp_path: Path) -> None:
        with pytest.raises(DetectorError, match=r"absent\.labels\.txt"):
            read_labels(tmp_path / "absent.labels.txt")
