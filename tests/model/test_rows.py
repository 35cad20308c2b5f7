"""The contract of all readers: what a URL is, and the identity of a pair."""

import hashlib

import pytest

from model.data.rows import is_url, pair_uid


class TestIsUrl:
    @pytest.mark.parametrize(
        "value",
        [
            "http://example.org",
            "HTTPS://Example.org:8080/a%20b.jpg?x=1#y",
            "http://user:pw@example.org/",
            "http://[::1]:80/a",
            "http://münchen.de/ü.jpg",
            "http://127.0.0.1:8000/a.png",
            "file:///data/my dog.jpg",
            "file:images/1.jpg",
        ],
    )
    def test_urls(self, value: str) -> None:
        assert is_url(value)

    @pytest.mark.parametrize(
        "value",
        [
            "",
            "http://",
            "http:///a.jpg",
            "http://:80/",
            "http://user@/a",
            "http://exa mple.org/",
            "http://example.org/a b",
            "http://example.org/\x7f",
            " http://example.org",
            "http://example.org\n",
            "javascript:alert(1)",
            "data:image/png;base64,AAAA",
            "file:",
            "file://host",
            "file:///",
            "images/1.jpg",
        ],
    )
    def test_not_urls(self, value: str) -> None:
        assert not is_url(value)

    @pytest.mark.parametrize(("value", "is_path"), [("a/b.JPEG", True), ("C:\\b.png", True), ("ftp://h/b.png", False)])
    def test_paths(self, value: str, is_path: bool) -> None:
        assert is_url(value, allow_paths=True) is is_path


class TestPairUid:
    def test_is_the_first_half_of_the_sha256_of_url_nul_caption(self) -> None:
        assert pair_uid("ü", "b") == hashlib.sha256(b"\xc3\xbc\x00b").hexdigest()[:32]

    def test_the_border_between_url_and_caption_matters(self) -> None:
        assert pair_uid("ab", "c") != pair_uid("a", "bc")
