import base64
import json
from datetime import UTC, datetime
from typing import Any
from uuid import uuid4

import pytest
from hypothesis import given
from hypothesis import strategies as st

from service import cursor
from service.problems import Problem


def raw(content: Any) -> str:
    return base64.urlsafe_b64encode(json.dumps(content).encode()).decode()


def refused(kind: str, given: str, *readers: Any) -> bool:
    try:
        cursor.decode(kind, given, *readers)
    except Problem as problem:
        return (problem.status, problem.code) == (422, "invalid_cursor")
    return False


class TestDecode:
    @given(st.integers(0, 2**63 - 1), st.floats(width=32, allow_nan=False, allow_infinity=False))
    def test_position_comes_back_exactly(self, row: int, score: float) -> None:
        made = cursor.encode("pairs", score, row)
        assert cursor.decode("pairs", made, cursor.score, cursor.whole) == [score, row]

    def test_time_and_id_come_back_exactly(self) -> None:
        moment, id = datetime.now(UTC), uuid4()
        made = cursor.encode("runs", moment.isoformat(), str(id))
        assert cursor.decode("runs", made, cursor.moment, cursor.identity) == [moment, id]

    def test_cursor_is_safe_in_an_address(self) -> None:
        made = cursor.encode("pairs ?&=/+ äöü", 0.1, 7)
        assert all(character.isalnum() or character in "-_" for character in made)

    def test_other_kind_is_refused(self) -> None:
        assert refused("runs", cursor.encode("pairs", 1), cursor.whole)

    @pytest.mark.parametrize("position", [[], [1, 2]])
    def test_other_length_is_refused(self, position: list[int]) -> None:
        assert refused("pairs", cursor.encode("pairs", *position), cursor.whole)

    @pytest.mark.parametrize("content", [None, 1, "pairs", {}, [], [["pairs"]], {"pairs": 1}])
    def test_other_json_is_refused(self, content: Any) -> None:
        assert refused("pairs", raw(content), cursor.whole)

    def test_deep_nesting_is_refused(self) -> None:
        deep = base64.urlsafe_b64encode(b"[" * 40_000).decode()
        assert refused("pairs", deep, cursor.whole)

    @given(st.text(max_size=60))
    def test_any_text_is_refused_and_never_a_crash(self, text: str) -> None:
        assert refused("pairs", text, cursor.whole)

    @pytest.mark.parametrize(
        ("reader", "value"),
        [
            (cursor.whole, -1),
            (cursor.whole, 2**63),
            (cursor.whole, True),
            (cursor.score, float("nan")),
            (cursor.score, float("inf")),
            (cursor.score, 1e39),
            (cursor.moment, "yesterday"),
            (cursor.moment, 5),
            (cursor.identity, "x"),
            (cursor.identity, None),
        ],
    )
    def test_value_that_the_database_would_choke_on_is_refused(self, reader: Any, value: Any) -> None:
        assert refused("k", cursor.encode("k", value), reader)


class TestCut:
    def test_row_too_many_means_another_page(self) -> None:
        assert cursor.cut([1, 2, 3], 2) == ([1, 2], 2)

    @pytest.mark.parametrize("found", [[], [1], [1, 2]])
    def test_no_row_too_many_is_the_last_page(self, found: list[int]) -> None:
        assert cursor.cut(found, 2) == (found, None)
