"""WebDataset tars: captions byte for byte, images by their place, every sample accounted for."""

import json
import tarfile
import tracemalloc
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from model.data.folders import listing
from model.data.folders.fields import REASONS
from model.data.rows import MAX_LINE_BYTES, FileError, pair_uid
from model.data.rows import REASONS as ROW_REASONS
from model.data.source import ImageSource
from tests.model.folders.making import CONTAINERS, image_of, opened, pack, pairs_of, rejects_of, special, tar_of

SAMPLES = {
    "000.jpg": b"image 0",
    "000.txt": b" a dog\n",
    "001.txt": "ein Hündchen".encode(),
    "001.json": json.dumps({"url": "https://example.org/1.png", "label": 7, "width": 3}).encode(),
    "001.png": b"image 1",
}
captions = st.text(st.characters(codec="utf-8", exclude_characters="\0"), min_size=1).filter(lambda text: text.strip())


class TestRows:
    @pytest.mark.parametrize("container", CONTAINERS)
    def test_samples_become_pairs_whatever_holds_them(self, tmp_path: Path, container: str) -> None:
        source = opened(pack(SAMPLES, container, tmp_path))
        first, second = pairs_of(source)
        assert source.format == "webdataset"
        assert source.images is ImageSource.MEMBERS
        assert (first.row, first.url, first.caption) == (1, "member:000.jpg", " a dog\n")
        assert (second.row, second.url, second.caption) == (2, "https://example.org/1.png", "ein Hündchen")
        assert first.uid == pair_uid("member:000.jpg", " a dog\n")
        assert second.label == "7"
        assert json.loads(second.extra or "") == {"label": 7, "width": 3, "key": "001"}
        assert [image_of(source, pair) for pair in (first, second)] == [b"image 0", b"image 1"]

    @pytest.mark.parametrize("container", CONTAINERS)
    def test_shards_inside_a_container_are_read_in_the_order_of_their_numbers(
        self, tmp_path: Path, container: str
    ) -> None:
        shards = {
            f"set/{number}.tar": tar_of({f"{number}.jpg": b"i%d" % number, f"{number}.txt": b"c%d" % number})
            for number in (10, 2)
        }
        source = opened(pack(shards, container, tmp_path))
        found = pairs_of(source)
        assert [pair.caption for pair in found] == ["c2", "c10"]
        assert [pair.row for pair in found] == [1, 2]
        assert [image_of(source, pair) for pair in found] == [b"i2", b"i10"]
        assert found[0].url == "member:set/2.tar/2.jpg"

    def test_place_in_a_tar_of_tars_is_an_offset_in_the_outer_file(self, tmp_path: Path) -> None:
        path = pack({"a.tar": tar_of(SAMPLES)}, "tar", tmp_path)
        offset, size = (int(part) for part in (pairs_of(opened(path))[0].place or "").split("+"))
        assert path.read_bytes()[offset : offset + size] == b"image 0"

    def test_place_in_a_directory_names_the_shard(self, tmp_path: Path) -> None:
        source = opened(pack({"a.tar": tar_of(SAMPLES)}, "directory", tmp_path))
        assert (pairs_of(source)[0].place or "").startswith("a.tar@")

    def test_compressed_shards_are_read(self, tmp_path: Path) -> None:
        inner = pack(SAMPLES, "tar.gz", tmp_path).read_bytes()
        (tmp_path / "upload").unlink()
        source = opened(pack({"a.tar.gz": inner}, "tar", tmp_path))
        assert [image_of(source, pair) for pair in pairs_of(source)] == [b"image 0", b"image 1"]

    def test_places_hold_when_the_source_is_opened_again(self, tmp_path: Path) -> None:
        path = pack({"a.tar": tar_of(SAMPLES)}, "tar.zst", tmp_path)
        pair = pairs_of(opened(path))[0]
        assert image_of(opened(path), pair) == b"image 0"

    def test_caption_and_url_can_come_from_fields_that_are_named(self, tmp_path: Path) -> None:
        fields = {"alt": "from the field", "src": "https://example.org/x", "caption": "other"}
        members = {"a.jpg": b"i", "a.txt": b"from the text", "a.json": json.dumps(fields).encode()}
        source = opened(pack(members, "tar", tmp_path), caption_column="alt", url_column="src")
        (pair,) = pairs_of(source)
        assert (pair.caption, pair.url) == ("from the field", "https://example.org/x")
        assert json.loads(pair.extra or "") == {"caption": "other", "key": "a"}

    def test_hidden_files_are_no_samples(self, tmp_path: Path) -> None:
        members = {"._000.jpg": b"?", "__MACOSX/000.jpg": b"?", **SAMPLES}
        assert len(pairs_of(opened(pack(members, "tar", tmp_path)))) == 2

    def test_leading_dot_slash_is_left_out(self, tmp_path: Path) -> None:
        path = pack({"./d/a.jpg": b"i", "./d/a.txt": b"c"}, "tar", tmp_path)
        assert pairs_of(opened(path))[0].url == "member:d/a.jpg"

    def test_only_adjacent_members_are_one_sample(self, tmp_path: Path) -> None:
        members = {"a.jpg": b"i", "b.jpg": b"i", "b.txt": b"c", "a.txt": b"c", "c.jpg": b"i", "c.txt": b"c"}
        source = opened(pack(members, "tar", tmp_path), input_format="webdataset")
        assert [(reject.row, reject.reason) for reject in rejects_of(source)] == [(1, "empty_caption"), (3, "no_image")]

    @pytest.mark.parametrize(
        ("members", "reason"),
        [
            ({"x.txt": b"c"}, "no_image"),
            ({"x.jpg": b"i"}, "empty_caption"),
            ({"x.jpg": b"i", "x.txt": b" \n"}, "empty_caption"),
            ({"x.jpg": b"i", "x.txt": b"\xff"}, "not_utf8"),
            ({"x.jpg": b"i", "x.txt": b"a\0b"}, "nul_byte"),
            ({"x.jpg": b"i", "x.txt": b"c" * (MAX_LINE_BYTES + 1)}, "caption_too_long"),
            ({"x.jpg": b"i", "x.json": b"{"}, "broken_json"),
            ({"x.jpg": b"i", "x.json": b"[]"}, "broken_json"),
            ({"x.jpg": b"i", "x.json": b"[" * 100_000}, "broken_json"),
            ({"x.jpg": b"i", "x.json": b'{"caption": "\\ud800"}'}, "not_utf8"),
            ({"x.jpg": b"i", "x.json": b'{"caption": 3}'}, "empty_caption"),
            ({"x.jpg": b"i", "x.json": b'{"caption": "c", "k": "\\u0000"}'}, "nul_byte"),
            ({"x.jpg": b"i", "x.txt": b"c", "x.json": b'{"url": "https://e.org/\\udc00"}'}, "not_utf8"),
            ({"x.jpg": b"i", "x.txt": b"c", "x.json": b" " * (1 << 21)}, "fields_too_long"),
            ({"../x.jpg": b"i", "../x.txt": b"c"}, "unsafe_member"),
            ({"/x.jpg": b"i", "/x.txt": b"c"}, "unsafe_member"),
        ],
    )
    def test_bad_sample_is_rejected_and_the_rest_read(
        self, tmp_path: Path, members: dict[str, bytes], reason: str
    ) -> None:
        source = opened(pack({**SAMPLES, **members, "z.jpg": b"i", "z.txt": b"c"}, "tar", tmp_path))
        found = list(source.rows())
        assert [item.row for item in found] == [1, 2, 3, 4]
        (reject,) = rejects_of(source)
        assert (reject.row, reject.reason) == (3, reason)
        assert reject.offset > 0
        assert "x" in reject.detail
        assert reason in REASONS | ROW_REASONS

    @pytest.mark.parametrize("kind", [tarfile.SYMTYPE, tarfile.LNKTYPE, tarfile.CHRTYPE, tarfile.FIFOTYPE])
    def test_link_or_device_in_the_place_of_an_image_is_rejected(self, tmp_path: Path, kind: bytes) -> None:
        path = tmp_path / "upload"
        path.write_bytes(tar_of(SAMPLES, special("x.jpg", kind, "/etc/passwd")))
        (reject,) = rejects_of(opened(path))
        assert (reject.reason, reject.row) == ("unsafe_member", 3)
        assert "x.jpg" in reject.detail

    def test_tar_without_samples_is_a_file_error(self, tmp_path: Path) -> None:
        source = opened(pack({"notes.md": b"text"}, "tar", tmp_path), input_format="webdataset")
        with pytest.raises(FileError, match=r"no sample.*key\.jpg"):
            list(source.rows())

    def test_cut_short_tar_gives_its_whole_samples_and_then_an_error(self, tmp_path: Path) -> None:
        path = pack({f"{i:03}.{end}": b"x" * 700 for i in range(50) for end in ("jpg", "txt")}, "tar", tmp_path)
        path.write_bytes(path.read_bytes()[:40_000])
        found = []
        with pytest.raises(FileError, match="cut short") as caught:
            found.extend(opened(path).rows())
        assert caught.value.reason == "tar_cut_short"

    @settings(max_examples=60, deadline=None)
    @given(texts=st.lists(captions, min_size=1, max_size=8))
    def test_captions_survive_byte_for_byte(self, tmp_path_factory: pytest.TempPathFactory, texts: list[str]) -> None:
        members: dict[str, bytes] = {}
        for number, text in enumerate(texts):
            members[f"{number:04}.jpg"] = b"i"
            if number % 2:
                members[f"{number:04}.json"] = json.dumps({"caption": text}).encode()
            else:
                members[f"{number:04}.txt"] = text.encode()
        path = pack(members, "tar", tmp_path_factory.mktemp("property"))
        assert [pair.caption.encode() for pair in pairs_of(opened(path))] == [text.encode() for text in texts]

    def test_memory_does_not_grow_with_the_number_of_samples(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(listing, "PEEK_MEMBERS", 100)

        def peak(count: int) -> int:
            folder = tmp_path / str(count)
            folder.mkdir()
            path = pack({f"{i:06}.{end}": b"c" for i in range(count) for end in ("jpg", "txt")}, "tar", folder)
            tracemalloc.start()
            assert sum(1 for _ in opened(path).rows()) == count
            most = tracemalloc.get_traced_memory()[1]
            tracemalloc.stop()
            return most

        assert peak(2_000) < peak(200) + 200_000


class TestReadImage:
    def test_image_over_the_cap_is_refused(self, tmp_path: Path) -> None:
        source = opened(pack(SAMPLES, "tar", tmp_path))
        with pytest.raises(FileError, match="7 bytes"):
            source.read_image(pairs_of(source)[0].place or "", 3)

    @pytest.mark.parametrize("container", CONTAINERS)
    @pytest.mark.parametrize("place", ["99999999+5", "../upload", "/etc/passwd", "nothing.jpg", "x.tar@0+5"])
    def test_place_that_is_none_is_a_file_error(self, tmp_path: Path, container: str, place: str) -> None:
        source = opened(pack(SAMPLES, container, tmp_path))
        with pytest.raises(FileError):
            source.read_image(place, 1_000)

    def test_features_are_refused(self, tmp_path: Path) -> None:
        with pytest.raises(FileError, match="no features"):
            opened(pack(SAMPLES, "tar", tmp_path)).features()
