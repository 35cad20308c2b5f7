from typing import Any

import pytest

from cli.upload import describe
from service.schemas import Collection
from tests.factories import CAPTION_FIRST

HEADER = {"header": ["id", "title", "link"], "caption_column": 1, "url_column": 2, "label_column": 0}


def collection(format: dict[str, Any]) -> Collection:
    return Collection.model_validate(
        {
            "id": "0" * 32,
            "name": "made",
            "state": "ready",
            "format": format,
            "lines_read": 1200,
            "accepted": 1199,
            "rejected": 1,
            "reject_reasons": {"not_a_url": 1},
            "created_at": "2026-01-01T00:00:00Z",
        }
    )


class TestDescribe:
    @pytest.mark.parametrize(
        ("format", "said"),
        [
            ({"format": "tsv", **CAPTION_FIRST.to_dict()}, "tsv (caption: column 0, url: column 1, no header)"),
            ({"format": "csv", "images": "urls", **HEADER}, "csv (caption: title, url: link, label: id)"),
            (
                {"format": "images", "images": "members", "table": HEADER},
                "images (caption: title, url: link, label: id, images inside)",
            ),
            ({"format": "precomp", "images": "features"}, "precomp (features instead of images)"),
        ],
    )
    def test_says_what_was_detected(self, format: dict[str, Any], said: str) -> None:
        assert f"  format    {said}\n" in describe(collection(format))

    def test_accounts_for_every_row(self) -> None:
        text = describe(collection({"format": "tsv"}))
        assert "rows      1,200" in text
        assert "rejected  1  (not_a_url: 1)" in text
