"""Directories, tars and zips from strangers: nothing leads outside, nothing explodes, what is broken is said to be."""

import gzip
import io
import os
import struct
import tarfile
import zipfile
from pathlib import Path

import pytest
import zstandard

from model.data.folders import scratch, tars, zips
from model.data.folders.detect import is_archive
from model.data.folders.extent import Extent
from model.data.folders.folder import DirectoryFolder, TarFolder, open_tar
from model.data.folders.index import NameIndex
from model.data.folders.names import MAX_NAME_BYTES, Member, clean_name, natural, split_key
from model.data.folders.scratch import Scratch
from model.data.folders.zips import ZipFolder
from model.data.rows import FileError
from tests.model.folders.making import CONTAINERS, opened, pack, special, tar_of, zip_of


def tar_folder(tmp_path: Path, data: bytes) -> TarFolder:
    (tmp_path / "x").write_bytes(data)
    return open_tar(tmp_path / "x", Scratch(tmp_path / "scratch"))


def zip_folder(tmp_path: Path, data: bytes) -> ZipFolder:
    (tmp_path / "x").write_bytes(data)
    return ZipFolder(Extent.of_file(tmp_path / "x"), Scratch(tmp_path / "scratch"), "x")


def lying_zip(data: bytes, size: int, method: int = zipfile.ZIP_DEFLATED) -> bytes:
    """A zip of one member whose directory gives another size than the member has."""
    packed = bytearray(zip_of({"a.jpg": data}, method))
    directory = packed.rindex(b"PK\1\2")
    struct.pack_into("<I", packed, directory + 24, size)
    return bytes(packed)


class TestCleanName:
    @pytest.mark.parametrize(
        "name", ["../a", "a/../../b", "/a", "", "a\nb", "a\0b", "\udcff.jpg", "x" * (MAX_NAME_BYTES + 1)]
    )
    def test_unsafe_name_has_a_fault_and_can_still_be_shown(self, name: str) -> None:
        shown, fault = clean_name(name)
        assert fault is not None
        assert shown.encode() is not None
        assert "\0" not in shown

    @pytest.mark.parametrize(("name", "clean"), [("./a//b.jpg", "a/b.jpg"), ("ä ö.png", "ä ö.png"), ("..a", "..a")])
    def test_safe_name_is_brought_to_one_form(self, name: str, clean: str) -> None:
        assert clean_name(name) == (clean, None)


class TestSplitKey:
    def test_key_ends_at_the_first_dot_after_the_last_slash(self) -> None:
        assert split_key("v1.2/a.left.JPG") == ("v1.2/a", "left.jpg")


class TestNatural:
    def test_numbers_count_as_numbers(self) -> None:
        assert sorted(["s10", "s9", "s1", "a"], key=natural) == ["a", "s1", "s9", "s10"]


class TestIsArchive:
    @pytest.mark.parametrize("container", [name for name in CONTAINERS if name != "directory"])
    def test_archives_are_known_by_their_content(self, tmp_path: Path, container: str) -> None:
        assert is_archive(pack({"a": b"b"}, container, tmp_path))

    @pytest.mark.parametrize(
        "data",
        [
            b"",
            b"https://example.org/a.jpg\ta dog\n" * 100,
            gzip.compress(b"url\tcaption\n" * 100, mtime=0),
            zstandard.ZstdCompressor().compress(b"url\tcaption\n" * 100),
            gzip.compress(b"x" * 1000, mtime=0)[:20],
            b"PAR1" + bytes(1000),
            bytes(1024),
        ],
    )
    def test_tables_are_not_archives_whatever_their_name(self, tmp_path: Path, data: bytes) -> None:
        (tmp_path / "data.tar").write_bytes(data)
        assert not is_archive(tmp_path / "data.tar")


class TestTarMembers:
    def test_links_devices_and_names_that_lead_outside_carry_a_problem(self, tmp_path: Path) -> None:
        data = tar_of(
            {"good.jpg": b"x", "../up.jpg": b"x", "/abs.jpg": b"x"},
            special("link.jpg", tarfile.SYMTYPE, "/etc/passwd"),
            special("hard.jpg", tarfile.LNKTYPE, "good.jpg"),
            special("dev.jpg", tarfile.CHRTYPE),
            special("folder", tarfile.DIRTYPE),
        )
        found = {member.name: member.problem for member in tar_folder(tmp_path, data).members()}
        assert list(found) == ["good.jpg", "../up.jpg", "/abs.jpg", "link.jpg", "hard.jpg", "dev.jpg"]
        assert [name for name, problem in found.items() if problem is None] == ["good.jpg"]

    def test_sparse_file_carries_a_problem(self, tmp_path: Path) -> None:
        sparse = special("sparse.jpg", tarfile.GNUTYPE_SPARSE)
        (member,) = tar_folder(tmp_path, tar_of({}, sparse)).members()
        assert member.problem == "it is a sparse file"

    @pytest.mark.parametrize("kept", [300, 1_000, 2_600])
    def test_tar_that_is_cut_short_is_an_error(self, tmp_path: Path, kept: int) -> None:
        data = tar_of({"a.jpg": b"x" * 1_000, "b.jpg": b"y" * 1_000})[:kept]
        (tmp_path / "x").write_bytes(data)
        with pytest.raises(FileError) as caught:
            list(tars.tar_members(Extent.of_file(tmp_path / "x"), "x"))
        assert caught.value.reason in ("tar_cut_short", "tar_corrupt")

    def test_tar_without_end_blocks_is_read(self, tmp_path: Path) -> None:
        data = tar_of({"a.jpg": b"x" * 1_000})[: 512 + 1_024]
        assert [member.name for member in tar_folder(tmp_path, data).members()] == ["a.jpg"]

    def test_header_that_is_damaged_in_the_middle_is_an_error(self, tmp_path: Path) -> None:
        data = bytearray(tar_of({"a.jpg": b"x" * 512, "b.jpg": b"y", "c.jpg": b"z"}))
        data[1_024 + 150] ^= 0xFF
        folder = tar_folder(tmp_path, bytes(data))
        with pytest.raises(FileError, match="corrupt at byte 1,024"):
            list(folder.members())

    def test_negative_size_is_an_error(self, tmp_path: Path) -> None:
        info = tarfile.TarInfo("a.jpg")
        block = bytearray(info.tobuf(tarfile.GNU_FORMAT))
        block[124:136] = b"\xff" * 8 + (-2048 & 0xFFFFFFFF).to_bytes(4, "big")
        block[148:156] = b" " * 8
        block[148:156] = b"%06o\0 " % sum(block)
        folder = tar_folder(tmp_path, bytes(block) + bytes(1024))
        with pytest.raises(FileError) as caught:
            list(folder.members())
        assert caught.value.reason == "tar_corrupt"

    def test_header_that_would_fill_the_memory_is_an_error(self, tmp_path: Path) -> None:
        name = tarfile.TarInfo("././@LongLink")
        name.type, name.size = tarfile.GNUTYPE_LONGNAME, 10 << 20
        data = name.tobuf(tarfile.GNU_FORMAT) + b"a" * name.size + tar_of({"a.jpg": b"x"})
        folder = tar_folder(tmp_path, data)
        with pytest.raises(FileError, match="larger than"):
            list(folder.members())

    def test_long_names_are_read(self, tmp_path: Path) -> None:
        name = "d/" * 150 + "a.jpg"
        assert [member.name for member in tar_folder(tmp_path, tar_of({name: b"x"})).members()] == [name]

    def test_too_many_members_are_an_error(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(tars, "MAX_MEMBERS", 2)
        with pytest.raises(FileError, match="too many members"):
            list(tar_folder(tmp_path, tar_of(dict.fromkeys("abc", b""))).members())


class TestCompressedTar:
    def test_it_is_unpacked_once_and_found_again(self, tmp_path: Path) -> None:
        path = pack({"a.jpg": b"x"}, "tar.gz", tmp_path)
        first = open_tar(path, Scratch(tmp_path / "scratch")).extent.path
        written = first.stat().st_mtime_ns
        second = open_tar(path, Scratch(tmp_path / "scratch")).extent.path
        assert (second, second.stat().st_mtime_ns) == (first, written)
        assert os.listdir(tmp_path / "scratch") == [first.name]

    def test_another_upload_under_the_same_name_is_unpacked_anew(self, tmp_path: Path) -> None:
        path = pack({"a.jpg": b"x"}, "tar.gz", tmp_path)
        open_tar(path, Scratch(tmp_path / "scratch"))
        pack({"b.jpg": b"x" * 5_000}, "tar.gz", tmp_path)
        members = open_tar(path, Scratch(tmp_path / "scratch")).members()
        assert [member.name for member in members] == ["b.jpg"]

    @pytest.mark.parametrize("container", ["tar.gz", "tar.zst"])
    def test_bomb_is_refused_and_leaves_nothing(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, container: str
    ) -> None:
        monkeypatch.setattr(scratch, "FREE_BYTES", 100_000)
        path = pack({"a.jpg": bytes(5_000_000)}, container, tmp_path)
        assert path.stat().st_size * scratch.MAX_RATIO < 5_000_000
        with pytest.raises(FileError, match="unpacks to more than"):
            open_tar(path, Scratch(tmp_path / "scratch"))
        assert os.listdir(tmp_path / "scratch") == []

    @pytest.mark.parametrize("container", ["tar.gz", "tar.zst"])
    def test_stream_that_is_cut_short_is_an_error_and_leaves_nothing(self, tmp_path: Path, container: str) -> None:
        path = pack({"a.jpg": os.urandom(100_000)}, container, tmp_path)
        path.write_bytes(path.read_bytes()[:-50_000])
        with pytest.raises(FileError):
            open_tar(path, Scratch(tmp_path / "scratch"))
        assert os.listdir(tmp_path / "scratch") == []

    def test_temporary_folder_goes_with_its_owner(self) -> None:
        owner = Scratch(None)
        folder = owner.folder
        assert folder.is_dir()
        del owner
        assert not folder.exists()


class TestZipFolder:
    def test_links_and_names_that_lead_outside_carry_a_problem(self, tmp_path: Path) -> None:
        out = io.BytesIO()
        with zipfile.ZipFile(out, "w") as archive:
            link = zipfile.ZipInfo("link.jpg")
            link.external_attr = 0o120777 << 16
            archive.writestr(link, "/etc/passwd")
            archive.writestr("../up.jpg", b"x")
            archive.writestr("/abs.jpg", b"x")
            archive.writestr("good.jpg", b"x")
        folder = zip_folder(tmp_path, out.getvalue())
        assert [member.name for member in folder.members() if member.problem is None] == ["good.jpg"]
        for name in ("link.jpg", "../up.jpg", "/abs.jpg"):
            with pytest.raises(FileError):
                folder.read_place(name, 100)

    @pytest.mark.parametrize("size", [99, 101, 100_000])
    @pytest.mark.parametrize("method", [zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED])
    def test_size_that_lies_is_found_out(self, tmp_path: Path, size: int, method: int) -> None:
        folder = zip_folder(tmp_path, lying_zip(bytes(range(100)), size, method))
        with pytest.raises(FileError):
            folder.read_place("a.jpg", 1 << 20)
        with pytest.raises(FileError):
            folder.locate(folder.find("a.jpg"))
        assert os.listdir(tmp_path / "scratch") == []

    def test_claimed_size_beyond_the_ratio_is_refused(self, tmp_path: Path) -> None:
        with pytest.raises(FileError, match="claims to hold 4,000,000,000"):
            zip_folder(tmp_path, lying_zip(b"x" * 100, 4_000_000_000))

    def test_damaged_member_is_found_out(self, tmp_path: Path) -> None:
        data = bytearray(zip_of({"a.jpg": bytes(range(200))}, zipfile.ZIP_STORED))
        data[100] ^= 0xFF
        with pytest.raises(FileError, match="CRC"):
            zip_folder(tmp_path, bytes(data)).read_place("a.jpg", 1_000)

    def test_zip_that_is_cut_short_is_an_error(self, tmp_path: Path) -> None:
        with pytest.raises(FileError, match="cut short"):
            zip_folder(tmp_path, zip_of({"a.jpg": bytes(5_000)}, zipfile.ZIP_STORED)[:2_000])

    def test_too_many_members_are_refused_before_they_are_read(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(zips, "MAX_ZIP_MEMBERS", 2)
        with pytest.raises(FileError, match="3 members"):
            zip_folder(tmp_path, zip_of(dict.fromkeys("abc", b"")))

    def test_encrypted_member_carries_a_problem(self, tmp_path: Path) -> None:
        data = bytearray(zip_of({"a.jpg": b"x"}))
        data[data.rindex(b"PK\1\2") + 8] |= 1
        (member,) = zip_folder(tmp_path, bytes(data)).members()
        assert member.problem == "it is encrypted"

    def test_zip64_is_read(self, tmp_path: Path) -> None:
        out = io.BytesIO()
        with zipfile.ZipFile(out, "w") as archive:
            for number in range(65_536):
                archive.writestr(f"{number}.jpg", b"")
        assert sum(1 for _ in zip_folder(tmp_path, out.getvalue()).members()) == 65_536


class TestDirectoryFolder:
    def test_links_are_not_followed(self, tmp_path: Path) -> None:
        (tmp_path / "secret").mkdir()
        (tmp_path / "secret" / "a.jpg").write_bytes(b"secret")
        root = tmp_path / "root"
        root.mkdir()
        (root / "good.jpg").write_bytes(b"x")
        (root / "link.jpg").symlink_to(tmp_path / "secret" / "a.jpg")
        (root / "folder").symlink_to(tmp_path / "secret")
        os.mkfifo(root / "pipe.jpg")
        folder = DirectoryFolder(root, Scratch(tmp_path / "scratch"))
        problems = {member.name: member.problem for member in folder.members()}
        assert problems == {
            "good.jpg": None,
            "link.jpg": "it is a link",
            "folder": "it is a link",
            "pipe.jpg": "it is a device or a pipe",
        }
        assert folder.read_place("good.jpg", 10) == b"x"
        for place in ("link.jpg", "folder/a.jpg", "../secret/a.jpg", str(tmp_path / "secret" / "a.jpg")):
            with pytest.raises(FileError, match="no file"):
                folder.read_place(place, 10)

    def test_what_was_left_out_is_counted(self, tmp_path: Path) -> None:
        path = pack({"a.jpg": b"i", "a.txt": b"c", ".DS_Store": b""}, "directory", tmp_path)
        (path / "b.jpg").symlink_to(path / "a.jpg")
        assert opened(path).describe()["ignored"] == {"hidden file": 1, "it is a link": 1}


class TestNameIndex:
    def test_last_of_several_with_one_name_is_found(self) -> None:
        index = NameIndex((name, Member(name, size, 0)) for name, size in [("a", 1), ("b", 2), ("a", 3)])
        assert [index.get("a"), index.get("c")] == [Member("a", 3, 0), None]


class TestWindow:
    def test_it_is_a_file_of_its_own(self, tmp_path: Path) -> None:
        (tmp_path / "x").write_bytes(b"0123456789")
        with Extent(tmp_path / "x", 2, 5).open() as file:
            assert file.read() == b"23456"
            assert file.seek(-2, io.SEEK_END) == 3
            assert file.read(10) == b"56"
            assert file.read(1) == b""
