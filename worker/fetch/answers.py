"""What an answer over http means: a status, a header or an exception of aiohttp becomes a FetchError with a class."""

import math
import socket
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from email.utils import parsedate_to_datetime

import aiohttp
from yarl import URL

from worker.fetch.errors import FetchClass, FetchError
from worker.fetch.guard import BlockedAddress

OK, TOO_MANY_REQUESTS, UNAVAILABLE, FIRST_SERVER_ERROR = 200, 429, 503, 500
REDIRECTS = frozenset({301, 302, 303, 307, 308})
STATUS_CLASSES = {403: FetchClass.FORBIDDEN, 404: FetchClass.NOT_FOUND, 429: FetchClass.RATE_LIMITED}


def status_error(url: URL, status: int, retry_after: str | None, wall: float) -> FetchError:
    is_busy = status in (TOO_MANY_REQUESTS, UNAVAILABLE)
    return FetchError(
        STATUS_CLASSES.get(status, FetchClass.HTTP_STATUS),
        f"{url} answered {status}",
        status=status,
        is_transient=is_busy or status >= FIRST_SERVER_ERROR,
        is_busy=is_busy,
        retry_after=seconds_to_wait(retry_after, wall) if is_busy and retry_after else None,
    )


def seconds_to_wait(retry_after: str, wall: float) -> float | None:
    """Retry-After as seconds from now: a number or a date; None where it is neither."""
    try:
        seconds = float(retry_after)
    except ValueError:
        try:
            seconds = parsedate_to_datetime(retry_after).timestamp() - wall
        except (ValueError, OverflowError):
            return None
    return None if math.isnan(seconds) else max(0.0, seconds)


def forbidding_directive(headers: Iterable[str], agent: str, disallowed: Iterable[str]) -> str | None:
    """The directive of X-Robots-Tag that forbids us the image; `name: directive` speaks to that robot only."""
    unwanted = frozenset(disallowed)
    for header in headers:
        addressee, colon, said = header.partition(":")
        if colon and "," not in addressee and addressee.strip().lower() != agent:
            continue
        for directive in (said if colon and "," not in addressee else header).lower().split(","):
            if directive.strip() in unwanted:
                return directive.strip()
    return None


@contextmanager
def faults_named(url: URL) -> Iterator[None]:
    """Whatever goes wrong with a request, as a FetchError."""
    try:
        yield
    except aiohttp.ClientSSLError as error:
        raise FetchError(FetchClass.TLS, f"{url}: {error}") from error
    except aiohttp.ClientConnectorError as error:
        raise _not_connected(url, error) from error
    except TimeoutError as error:
        raise FetchError(FetchClass.TIMEOUT, f"{url} did not answer in time", is_transient=True) from error
    except (aiohttp.ServerDisconnectedError, aiohttp.ClientOSError) as error:
        message = f"{url}: the host closed the connection: {error}"
        raise FetchError(FetchClass.REFUSED, message, is_transient=True) from error
    except aiohttp.InvalidURL as error:
        raise FetchError(FetchClass.UNSUPPORTED_URL, f"not a URL that can be asked for: {url}") from error
    except aiohttp.ClientPayloadError as error:
        raise FetchError(FetchClass.TRUNCATED, f"{url} was cut short: {error}", is_transient=True) from error
    except (aiohttp.ClientError, ValueError) as error:
        raise FetchError(FetchClass.UNREADABLE, f"{url}: {error}") from error


def _not_connected(url: URL, error: aiohttp.ClientConnectorError) -> FetchError:
    cause = error.os_error
    if isinstance(cause, BlockedAddress):
        return FetchError(FetchClass.BLOCKED_ADDRESS, str(cause))
    if isinstance(error, aiohttp.ClientConnectorDNSError):
        is_temporary = isinstance(cause, socket.gaierror) and cause.errno == socket.EAI_AGAIN
        return FetchError(FetchClass.DNS, f"the host of {url} was not found: {cause}", is_transient=is_temporary)
    return FetchError(FetchClass.REFUSED, f"{url}: {cause}", is_transient=True)
