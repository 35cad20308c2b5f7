"""What an operator says about fetching, and where its files go."""

from pathlib import Path

import pytest
from pydantic import ValidationError

from service.config import Settings, child_environment
from service.storage import Storage, write_by_content


class TestDirectives:
    @pytest.mark.parametrize("text", ["noai,none", " NoAI , none,", "noai:none"])
    def test_commas_and_the_separator_of_path_are_understood(self, monkeypatch: pytest.MonkeyPatch, text: str) -> None:
        monkeypatch.setenv("PAIRSIFT_FETCH_DISALLOWED_DIRECTIVES", text)
        assert Settings().fetch_disallowed_directives == ("noai", "none")

    def test_none_at_all_reach_a_child_too(self, monkeypatch: pytest.MonkeyPatch) -> None:
        settings = Settings(fetch_disallowed_directives=())
        name = "PAIRSIFT_FETCH_DISALLOWED_DIRECTIVES"
        monkeypatch.setenv(name, child_environment(settings)[name])
        assert Settings().fetch_disallowed_directives == ()


class TestContact:
    @pytest.mark.parametrize("contact", ["https://lab.example/bot", "mailto:data@lab.example", ""])
    def test_addresses_are_taken(self, contact: str) -> None:
        assert Settings(fetch_contact=contact).fetch_contact == contact

    @pytest.mark.parametrize("contact", ["a b", "x\r\nEvil: 1", "(x)", "büro@lab.example"])
    def test_what_would_break_the_header_is_refused(self, contact: str) -> None:
        with pytest.raises(ValidationError, match="fetch_contact"):
            Settings(fetch_contact=contact)


class TestWriteByContent:
    def test_file_is_written_and_mended_by_writing_again(self, tmp_path: Path) -> None:
        target = Storage(tmp_path).thumbnail(b"\xab" * 32)
        write_by_content(target, b"whole")
        target.write_bytes(b"to")
        write_by_content(target, b"whole")
        assert target == tmp_path / "thumbnails" / "ab" / ("ab" * 32)
        assert target.read_bytes() == b"whole"
        assert list(target.parent.iterdir()) == [target]

    def test_fault_leaves_nothing(self, tmp_path: Path) -> None:
        target = tmp_path / "folder"
        (target / "in the way").mkdir(parents=True)
        with pytest.raises(OSError, match="directory"):
            write_by_content(target, b"data")
        assert list(tmp_path.iterdir()) == [target]
