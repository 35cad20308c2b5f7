"""Texts read one at a time from a file."""

from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from model.data.texts import PackedTexts


def packed(path: Path, texts: list[str]) -> PackedTexts:
    parts = [text.encode() for text in texts]
    path.write_bytes(b"".join(parts))
    return PackedTexts(path, np.cumsum([len(part) for part in parts], dtype=np.int64))


@pytest.fixture(scope="module")
def scratch(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("texts")


class TestPackedTexts:
    @settings(deadline=None)
    @given(texts=st.lists(st.text(st.characters(codec="utf-8"))))
    def test_gives_back_what_was_written(self, scratch: Path, texts: list[str]) -> None:
        found = packed(scratch / "property.utf8", texts)
        assert len(found) == len(texts)
        assert list(found) == texts
        assert [found[at] for at in range(len(texts))] == texts

    def test_is_a_sequence_like_any_other(self, scratch: Path) -> None:
        found = packed(scratch / "three.utf8", ["a dog", "", "שלום 🐕"])
        assert found[-1] == "שלום 🐕"
        assert found[1:] == ["", "שלום 🐕"]
        with pytest.raises(IndexError):
            found[3]

    def test_file_of_another_length_is_refused(self, scratch: Path) -> None:
        path = scratch / "cut.utf8"
        packed(path, ["a dog", "a cat"])
        with pytest.raises(ValueError, match="9 bytes"):
            (path.write_bytes(b"a doga ca"), PackedTexts(path, np.array([5, 10])))
