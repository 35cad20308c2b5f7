"""Which reader a file gets is seen in its content; what was found is told, and what the user says wins."""

import gzip
import io
import json
import tarfile
import zipfile
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import zstandard
from PIL import Image

from model.data.rows import FileError, Pair
from model.data.source import ImageSource, ReadOptions
from model.data.sources import FORMATS, open_source
from model.data.table_format import TableFormat
from model.data.tables import READERS

URL = "https://example.org/a.jpg"
JSON = json.dumps({"url": URL, "caption": "a dog"}) + "\n"
pack_zstd = zstandard.ZstdCompressor().compress


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "upload"


def parquet_file() -> bytes:
    sink = io.BytesIO()
    pq.write_table(pa.table({"url": [URL], "caption": ["a dog"]}), sink)
    return sink.getvalue()


def reason_of(path: Path, **options: Any) -> str:
    with pytest.raises(FileError) as caught:
        open_source(path, ReadOptions(**options))
    return caught.value.reason


class TestOpenSource:
    @pytest.mark.parametrize(
        ("content", "name"),
        [
            (f"{URL}\ta dog, a cat, a bird\n", "tsv"),
            (f"{URL}\ta dog\n{URL},a cat\n", "tsv"),
            (f"a, b; c\t{URL}\nno tab, here; at all\n", "tsv"),
            (f"url\tcaption\n{URL}\ta dog\n", "tsv"),
            (f"{URL},a dog\n", "csv"),
            (f'{URL},"a\tdog"\n{URL},a cat\n{URL},a bird\n', "csv"),
            (f'url;caption\n{URL};"a dog"\n', "csv"),
            (JSON, "jsonl"),
            (f"\n  {JSON}", "jsonl"),
            (f"\ufeff{JSON}", "jsonl"),
            ('{\t"a": 1, "url": "' + URL + '", "caption": "x"}\n', "jsonl"),
        ],
    )
    @pytest.mark.parametrize("pack", [bytes, gzip.compress, pack_zstd])
    def test_text_format_is_seen_through_compression(self, file: Path, content: str, name: str, pack: Any) -> None:
        file.write_bytes(pack(content.encode()))
        source = open_source(file, ReadOptions())
        assert source.format == name
        assert source.describe()["compression"] == {bytes: None, gzip.compress: "gzip", pack_zstd: "zstd"}[pack]
        assert any(isinstance(item, Pair) for item in source.rows())

    def test_parquet_is_known_by_its_first_bytes(self, file: Path) -> None:
        file.write_bytes(parquet_file())
        source = open_source(file, ReadOptions())
        assert source.format == "parquet"
        assert len(list(source.rows())) == 1

    def test_compressed_parquet_is_explained(self, file: Path) -> None:
        file.write_bytes(gzip.compress(parquet_file()))
        assert reason_of(file) == "not_text"

    def test_reading_twice_gives_the_same(self, file: Path) -> None:
        file.write_text(f"{URL}\ta dog\nbroken\n")
        source = open_source(file, ReadOptions())
        assert list(source.rows()) == list(source.rows()) == list(open_source(file, ReadOptions()).rows())

    def test_what_the_user_says_wins(self, file: Path) -> None:
        file.write_text(f"{URL},a dog\tand a cat\n{URL},x\ty\n")
        assert open_source(file, ReadOptions(input_format="csv")).format == "csv"
        assert (
            open_source(file, ReadOptions(url_column="0", caption_column="1", input_format="csv")).describe()[
                "caption_column"
            ]
            == 1
        )

    def test_archive_with_images_is_opened_as_one(self, tmp_path: Path) -> None:
        image = io.BytesIO()
        Image.new("RGB", (4, 4)).save(image, "PNG")
        path = tmp_path / "upload"
        with zipfile.ZipFile(path, "w") as archive:
            archive.writestr("pairs.tsv", "1.png\ta dog\n2.png\ta cat\n")
            for name in ("1.png", "2.png"):
                archive.writestr(name, image.getvalue())
        source = open_source(path, ReadOptions(), tmp_path / "scratch")
        assert (source.format, source.images) == ("images", ImageSource.MEMBERS)

    def test_tar_is_opened_as_a_folder(self, tmp_path: Path) -> None:
        path = tmp_path / "upload"
        with tarfile.open(path, "w") as archive:
            for name, data in {"1.jpg": b"not looked at", "1.txt": b"a dog"}.items():
                member = tarfile.TarInfo(name)
                member.size = len(data)
                archive.addfile(member, io.BytesIO(data))
        assert open_source(path, ReadOptions(), tmp_path / "scratch").format == "webdataset"

    @pytest.mark.parametrize("is_folder", [False, True])
    def test_unknown_format_names_the_choices(self, file: Path, is_folder: bool) -> None:
        file.mkdir() if is_folder else file.write_text(f"{URL}\ta\n")
        with pytest.raises(FileError, match=r"input_format 'excel' is unknown.*tsv, csv, jsonl, parquet") as caught:
            open_source(file, ReadOptions(input_format="excel"))
        assert caught.value.reason == "unknown_format"

    def test_format_of_folders_is_refused_for_a_plain_file(self, file: Path) -> None:
        file.write_text(f"{URL}\ta\n")
        assert reason_of(file, input_format="webdataset") == "wrong_format"

    def test_missing_file_is_told(self, file: Path) -> None:
        assert reason_of(file) == "no_such_file"

    def test_device_is_not_read(self) -> None:
        assert reason_of(Path("/dev/zero")) == "not_a_file"

    @pytest.mark.parametrize("name", [None, *READERS])
    def test_empty_file_is_told_for_every_format(self, file: Path, name: str | None) -> None:
        file.touch()
        assert reason_of(file, input_format=name) in ("empty_file", "parquet_broken")

    def test_every_table_format_is_known(self) -> None:
        assert set(READERS) <= set(FORMATS)


class TestDescribe:
    def test_is_json_and_says_what_was_found(self, file: Path) -> None:
        file.write_bytes(gzip.compress(f"id\tcaption\turl\tlabel\n7\ta dog\t{URL}\tpets\n".encode()))
        described = open_source(file, ReadOptions()).describe()
        assert json.loads(json.dumps(described)) == {
            "format": "tsv",
            "images": "urls",
            "columns": 4,
            "url_column": 2,
            "caption_column": 1,
            "label_column": 3,
            "is_label_list": False,
            "has_header": True,
            "header": ["id", "caption", "url", "label"],
            "compression": "gzip",
            "delimiter": "\t",
        }
        assert TableFormat.from_dict(described).to_dict().items() <= described.items()

    def test_labels_subset_of_conceptual_captions(self, file: Path) -> None:
        file.write_text(f"a dog on grass\t{URL}\tdog,grass\t/m/0bt9lr,/m/08t9c_\t0.98,0.97\n" * 3)
        source = open_source(file, ReadOptions())
        assert (source.describe()["label_column"], source.describe()["is_label_list"]) == (2, True)
        assert {item.label for item in source.rows() if isinstance(item, Pair)} == {"dog"}


class TestImages:
    def test_tables_hold_neither_images_nor_features(self, file: Path) -> None:
        file.write_text(f"{URL}\ta\n")
        source = open_source(file, ReadOptions())
        assert source.images == ImageSource.URLS
        with pytest.raises(FileError, match="holds no images"):
            source.read_image("1", 10)
        with pytest.raises(FileError, match="holds no features"):
            source.features()


class TestOptionsThatDoNotApply:
    @pytest.mark.parametrize("option", ["split", "noise_index", "features"])
    def test_are_refused_by_name(self, tmp_path: Path, option: str) -> None:
        path = tmp_path / "pairs.tsv"
        path.write_text("a dog\thttp://example.com/1.jpg\n")
        with pytest.raises(FileError, match=f"{option} is for the format"):
            open_source(path, ReadOptions(**{option: "x"}))
