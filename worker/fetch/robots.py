"""robots.txt, once per origin (RFC 9309): a file that is not there allows everything, a host that cannot say what it
allows forbids everything for now."""

import asyncio
import re
from collections import OrderedDict
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from weakref import WeakValueDictionary

from protego import Protego
from yarl import URL

from worker.fetch.answers import FIRST_SERVER_ERROR, TOO_MANY_REQUESTS
from worker.fetch.clock import Clock
from worker.fetch.errors import FetchClass, FetchError

AGENT = "pairsift"
MAX_ROBOTS_BYTES = 512 * 1024  # what follows is ignored, as RFC 9309 allows
MAX_ORIGINS = 10_000
MAX_CACHED_BYTES = 8 * 2**20  # of text; what it is parsed into takes several times as much
GOOD_SECONDS, BAD_SECONDS = 24 * 3600, 3600

# Parsing takes (agents x rules) of a group; with all agents but ours as one, a hostile file cannot use that.
_AGENT_LINE = re.compile(r"^\s*user[-\s]*agent(?:\s*:|\s)\s*([^#]*)", re.IGNORECASE)


@dataclass(frozen=True)
class Rules:
    parsed: Protego | None  # None allows everything
    until: float  # when they are asked for again
    size: int = 0
    why_forbidden: str | None = None  # everything, for now

    @property
    def crawl_delay(self) -> float:
        return (self.parsed.crawl_delay(AGENT) if self.parsed else None) or 0.0


class Robots:
    """`read` gets at most MAX_ROBOTS_BYTES of a URL, politely and guarded, or raises FetchError."""

    def __init__(self, clock: Clock, read: Callable[[URL], Awaitable[bytes]]) -> None:
        self._clock = clock
        self._read = read
        self._known: OrderedDict[URL, Rules] = OrderedDict()
        self._bytes = 0
        self._locks: WeakValueDictionary[URL, asyncio.Lock] = WeakValueDictionary()

    async def check(self, url: URL) -> Rules:
        """The rules of the URL's origin; FetchError of class `robots` if they forbid it to us."""
        rules = await self._rules(url.origin())
        if rules.why_forbidden is not None:
            raise FetchError(FetchClass.ROBOTS, rules.why_forbidden)
        if rules.parsed is not None and not rules.parsed.can_fetch(str(url), AGENT):
            raise FetchError(FetchClass.ROBOTS, f"robots.txt of {url.host} does not allow {url}")
        return rules

    async def _rules(self, origin: URL) -> Rules:
        lock = self._locks.setdefault(origin, asyncio.Lock())
        async with lock:  # others of the same origin wait for the one answer
            rules = self._known.pop(origin, None)
            self._bytes -= rules.size if rules else 0
            if rules is None or self._clock.now() >= rules.until:
                rules = await self._load(origin)
            self._known[origin] = rules
            self._bytes += rules.size
            self._forget_old()
            return rules

    async def _load(self, origin: URL) -> Rules:
        now = self._clock.now()
        try:
            body = await self._read(origin / "robots.txt")
        except FetchError as error:
            why = _why_forbidden(origin, error)
            return Rules(None, now + (BAD_SECONDS if why else GOOD_SECONDS), why_forbidden=why)
        # A byte order mark is no part of the first line.
        text = body.decode("utf-8-sig", "replace")
        return Rules(Protego.parse(_our_groups(text)), now + GOOD_SECONDS, size=len(text))

    def _forget_old(self) -> None:
        while len(self._known) > MAX_ORIGINS or (self._bytes > MAX_CACHED_BYTES and len(self._known) > 1):
            _, rules = self._known.popitem(last=False)
            self._bytes -= rules.size


def _why_forbidden(origin: URL, error: FetchError) -> str | None:
    """None where a missing file allows everything."""
    is_missing = error.status is not None and error.status < FIRST_SERVER_ERROR and error.status != TOO_MANY_REQUESTS
    if is_missing or error.error_class == FetchClass.TOO_MANY_REDIRECTS:
        return None
    if error.status is not None or error.error_class == FetchClass.UNREADABLE:
        return f"robots.txt of {origin.host} could not be read, which forbids all of the host for now: {error}"
    raise error  # the host cannot be reached at all, which says more about the image than `robots` would


def _our_groups(text: str) -> str:
    lines = []
    for line in text.splitlines():
        found = _AGENT_LINE.match(line)
        is_ours = found is None or found[1].strip() == "*" or AGENT in found[1].lower()
        lines.append(line if is_ours else "User-agent: another")
    return "\n".join(lines)
