"""Why an image did not arrive: a class from a fixed list, and a sentence."""

from enum import StrEnum


class FetchClass(StrEnum):
    BLOCKED_ADDRESS = "blocked_address"
    BLOCKED_PATH = "blocked_path"
    DECODER_CRASHED = "decoder_crashed"
    DNS = "dns"
    FORBIDDEN = "403"
    HTTP_STATUS = "http_status"
    NOT_AN_IMAGE = "not_an_image"
    NOT_FINITE = "not_finite"
    NOT_FOUND = "404"
    RATE_LIMITED = "429"
    REFUSED = "refused"
    ROBOTS = "robots"
    TIMEOUT = "timeout"
    TLS = "tls"
    TOO_LARGE = "too_large"
    TOO_MANY_PIXELS = "too_many_pixels"
    TOO_MANY_REDIRECTS = "too_many_redirects"
    TRUNCATED = "truncated"
    UNREADABLE = "unreadable"
    UNSUPPORTED_URL = "unsupported_url"


def class_named(name: str, otherwise: FetchClass) -> FetchClass:
    try:
        return FetchClass(name)
    except ValueError:
        return otherwise


class FetchError(Exception):
    """`is_transient`: the same request may succeed a little later. `is_busy`: the host asked to be left alone for a
    while, for `retry_after` seconds if it said so."""

    def __init__(
        self,
        error_class: FetchClass,
        message: str,
        *,
        status: int | None = None,
        is_transient: bool = False,
        is_busy: bool = False,
        retry_after: float | None = None,
    ) -> None:
        super().__init__(message)
        self.error_class = error_class
        self.status = status
        self.is_transient = is_transient
        self.is_busy = is_busy
        self.retry_after = retry_after

    @property
    def is_of_host(self) -> bool:
        """Not of this one image: the next one of the same host will likely fail too."""
        return self.is_transient or self.error_class in (FetchClass.DNS, FetchClass.TLS)
