import stat
from pathlib import Path
from uuid import UUID

import pytest

from service.storage import Storage, finish_file, written_whole

ID = UUID("12345678-1234-5678-1234-567812345678")


class TestStorage:
    def test_every_kind_has_a_place_of_its_own_below_the_root(self, tmp_path: Path) -> None:
        storage = Storage(tmp_path)
        places = [
            storage.upload(ID),
            storage.run(ID),
            storage.export(ID),
            storage.image(bytes(32)),
            storage.features("lite", "images"),
            storage.features("lite", "captions"),
        ]
        assert len(set(places)) == len(places)
        assert all(place.is_relative_to(tmp_path) for place in places)
        assert not any(place.is_relative_to(other) for place in places for other in places if place != other)

    def test_images_are_spread_over_folders_by_content(self, tmp_path: Path) -> None:
        assert Storage(tmp_path).image(b"\xab" * 32) == tmp_path / "images" / "ab" / ("ab" * 32)


class TestWrittenWhole:
    def test_file_appears_when_it_is_complete(self, tmp_path: Path) -> None:
        target = tmp_path / "new" / "file"
        with written_whole(target) as file:
            file.write(b"half")
            assert not target.exists()
            file.write(b" and half")
        assert target.read_bytes() == b"half and half"
        assert list(target.parent.iterdir()) == [target]

    @pytest.mark.parametrize("fault", [ValueError, KeyboardInterrupt])
    def test_fault_leaves_nothing(self, tmp_path: Path, fault: type[BaseException]) -> None:
        def write() -> None:
            with written_whole(tmp_path / "file") as file:
                file.write(b"half")
                raise fault

        with pytest.raises(fault):
            write()
        assert list(tmp_path.iterdir()) == []

    def test_fault_keeps_the_file_that_was_there(self, tmp_path: Path) -> None:
        target = tmp_path / "file"
        target.write_bytes(b"old")

        def write() -> None:
            with written_whole(target) as file:
                file.write(b"new")
                raise ValueError

        with pytest.raises(ValueError):  # noqa: PT011
            write()
        assert target.read_bytes() == b"old"

    def test_two_writers_at_once_do_not_mix(self, tmp_path: Path) -> None:
        target = tmp_path / "file"
        with written_whole(target) as first, written_whole(target) as second:
            first.write(b"first")
            second.write(b"second")
        assert target.read_bytes() == b"first"
        assert list(tmp_path.iterdir()) == [target]


class TestFinishFile:
    def test_file_takes_the_place_of_another(self, tmp_path: Path) -> None:
        temporary, target = tmp_path / "a.tmp", tmp_path / "a"
        temporary.write_bytes(b"new")
        target.write_bytes(b"old")
        finish_file(temporary, target)
        assert target.read_bytes() == b"new"
        assert stat.S_ISREG(target.stat().st_mode)
        assert not temporary.exists()
