"""Why an image did not arrive: a class from a fixed list, and a sentence."""

from enum import StrEnum


class FetchClass(StrEnum):
    BLOCKED_ADDRESS = "blocked_address"
    BLOCKED_PATH = "blocked_path"
    DNS = "dns"
    FORBIDDEN = "403"
    HTTP_STATUS = "http_status"
    NOT_AN_IMAGE = "not_an_image"
    NOT_FOUND = "404"
    RATE_LIMITED = "429"
    REFUSED = "refused"
    TIMEOUT = "timeout"
    TLS = "tls"
    TOO_LARGE = "too_large"
    TOO_MANY_PIXELS = "too_many_pixels"
    TOO_MANY_REDIRECTS = "too_many_redirects"
    TRUNCATED = "truncated"
    UNREADABLE = "unreadable"
    UNSUPPORTED_URL = "unsupported_url"


class FetchError(Exception):
    def __init__(self, error_class: FetchClass, message: str) -> None:
        super().__init__(message)
        self.error_class = error_class
