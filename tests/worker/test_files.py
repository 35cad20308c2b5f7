from pathlib import Path

import pytest

from worker.fetch.errors import FetchClass, FetchError
from worker.fetch.files import local_path, read_file


class TestLocalPath:
    def test_file_url_is_unquoted(self) -> None:
        assert local_path("file:///data/a%20b.jpg", None) == Path("/data/a b.jpg")

    def test_localhost_may_be_named(self) -> None:
        assert local_path("file://localhost/a.jpg", None) == Path("/a.jpg")

    def test_other_hosts_are_refused(self) -> None:
        with pytest.raises(FetchError, match="must not name a host"):
            local_path("file://server/share/a.jpg", None)

    def test_http_is_not_local(self) -> None:
        assert local_path("https://example.com/a.jpg", "/images") is None

    def test_paths_are_below_the_image_root(self) -> None:
        assert local_path("sub/a.jpg", "/images") == Path("/images/sub/a.jpg")

    def test_paths_without_an_image_root_are_refused(self) -> None:
        with pytest.raises(FetchError) as caught:
            local_path("sub/a.jpg", None)
        assert caught.value.error_class == FetchClass.UNSUPPORTED_URL


class TestReadFile:
    def test_file_below_a_root_is_read(self, tmp_path: Path) -> None:
        (tmp_path / "a.jpg").write_bytes(b"data")
        assert read_file(tmp_path / "a.jpg", [tmp_path], 10) == b"data"

    def test_no_roots_refuse_everything(self, tmp_path: Path) -> None:
        (tmp_path / "a.jpg").write_bytes(b"data")
        assert _class_of(tmp_path / "a.jpg", []) == FetchClass.BLOCKED_PATH

    @pytest.mark.parametrize("name", ["../outside.jpg", "link.jpg"])
    def test_ways_out_of_the_root_are_refused(self, tmp_path: Path, name: str) -> None:
        root = tmp_path / "root"
        root.mkdir()
        (tmp_path / "outside.jpg").write_bytes(b"secret")
        (root / "link.jpg").symlink_to(tmp_path / "outside.jpg")
        assert _class_of(root / name, [root]) == FetchClass.BLOCKED_PATH

    def test_missing_file_is_not_found(self, tmp_path: Path) -> None:
        assert _class_of(tmp_path / "none.jpg", [tmp_path]) == FetchClass.NOT_FOUND

    def test_folder_is_unreadable(self, tmp_path: Path) -> None:
        assert _class_of(tmp_path, [tmp_path]) == FetchClass.UNREADABLE

    def test_large_file_is_refused(self, tmp_path: Path) -> None:
        (tmp_path / "big.jpg").write_bytes(bytes(11))
        assert _class_of(tmp_path / "big.jpg", [tmp_path]) == FetchClass.TOO_LARGE


def _class_of(path: Path, roots: list[Path]) -> FetchClass:
    with pytest.raises(FetchError) as caught:
        read_file(path, roots, 10)
    return caught.value.error_class
