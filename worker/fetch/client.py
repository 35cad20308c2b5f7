"""One image over http(s): the address is resolved once, checked and then connected to, so that a name that
changes its mind between the check and the connection gains nothing."""

import socket
from urllib.parse import urljoin, urlsplit

import httpx2 as httpx

from service.config import Settings
from worker.fetch import guard
from worker.fetch.errors import FetchClass, FetchError

USER_AGENT = "pairsift/0.1 (image-text dataset cleaning; fetches each image once)"
MAX_REDIRECTS = 3
REDIRECTS = frozenset({301, 302, 303, 307, 308})
STATUS_CLASSES = {403: FetchClass.FORBIDDEN, 404: FetchClass.NOT_FOUND, 429: FetchClass.RATE_LIMITED}


class HttpFetcher:
    """Safe to share between threads."""

    def __init__(self, settings: Settings) -> None:
        self.settings = settings
        # No proxy variables: a proxy would resolve the name again, unchecked.
        self.client = httpx.Client(
            timeout=settings.fetch_timeout_seconds, trust_env=False, headers={"User-Agent": USER_AGENT}
        )

    def get(self, url: str) -> bytes:
        for _ in range(MAX_REDIRECTS + 1):
            body, location = self._get_once(url)
            if location is None:
                return body
            url = urljoin(url, location)
        raise FetchError(FetchClass.TOO_MANY_REDIRECTS, f"more than {MAX_REDIRECTS} redirects, the last to {url}")

    def close(self) -> None:
        self.client.close()

    def _get_once(self, url: str) -> tuple[bytes, str | None]:
        try:
            request = self._request(url)
            response = self.client.send(request, stream=True)
            try:
                return self._read(url, response)
            finally:
                response.close()
        except guard.BlockedAddress as error:
            raise FetchError(FetchClass.BLOCKED_ADDRESS, str(error)) from error
        except socket.gaierror as error:
            raise FetchError(FetchClass.DNS, f"the host of {url} was not found: {error}") from error
        except httpx.TimeoutException as error:
            raise FetchError(FetchClass.TIMEOUT, f"{url} did not answer in time") from error
        except httpx.ConnectError as error:
            is_tls = "SSL" in str(error) or "certificate" in str(error).lower()
            error_class = FetchClass.TLS if is_tls else FetchClass.REFUSED
            raise FetchError(error_class, f"{url}: {error}") from error
        except (httpx.HTTPError, httpx.InvalidURL, UnicodeError, ValueError) as error:
            raise FetchError(FetchClass.UNREADABLE, f"{url}: {error}") from error

    def _request(self, url: str) -> httpx.Request:
        parts = urlsplit(url)
        if parts.scheme not in ("http", "https") or not parts.hostname:
            raise FetchError(FetchClass.UNSUPPORTED_URL, f"not an http or https URL: {url}")
        port = parts.port or (443 if parts.scheme == "https" else 80)
        if self.settings.fetch_private_addresses:
            address = guard.resolve_any(parts.hostname, port)
        elif port not in guard.ALLOWED_PORTS:
            raise FetchError(FetchClass.BLOCKED_ADDRESS, f"port {port} is not 80 or 443: {url}")
        else:
            address = guard.resolve_public(parts.hostname, port)
        return self.client.build_request(
            "GET",
            httpx.URL(url).copy_with(host=address),
            headers={"Host": parts.netloc.rpartition("@")[2]},
            extensions={"sni_hostname": parts.hostname},
        )

    def _read(self, url: str, response: httpx.Response) -> tuple[bytes, str | None]:
        if response.status_code in REDIRECTS and "Location" in response.headers:
            return b"", response.headers["Location"]
        if response.status_code != 200:
            error_class = STATUS_CLASSES.get(response.status_code, FetchClass.HTTP_STATUS)
            raise FetchError(error_class, f"{url} answered {response.status_code}")
        body = bytearray()
        for piece in response.iter_bytes():
            body += piece  # counted after decompression, so a small bomb cannot grow past the cap
            if len(body) > self.settings.max_image_bytes:
                raise FetchError(FetchClass.TOO_LARGE, f"{url} is larger than {self.settings.max_image_bytes:,} bytes")
        return bytes(body), None
