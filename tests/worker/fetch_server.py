"""A host on loopback that plays all kinds of hosts, and counts what is asked of it."""

import asyncio
import gzip
import io
import ssl
import threading
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

from aiohttp import web
from PIL import Image

routes = web.RouteTableDef()
HOST = web.AppKey("HOST", Any)


def jpeg(seed: int = 0, size: tuple[int, int] = (40, 30)) -> bytes:
    file = io.BytesIO()
    Image.new("RGB", size, (seed % 256, seed // 256 % 256, 90)).save(file, "JPEG")
    return file.getvalue()


@dataclass
class FetchServer:
    hits: Counter[str] = field(default_factory=Counter)  # by path
    at_once: int = 0
    most_at_once: int = 0  # of images; some of the others outlive their request
    agents: set[str] = field(default_factory=set)
    robots: tuple[int, str] = (404, "")  # status and text of robots.txt
    port: int = 0
    scheme: str = "http"

    @property
    def url(self) -> str:
        return self.at("127.0.0.1")

    def at(self, host: str) -> str:
        return f"{self.scheme}://{host}:{self.port}"

    @property
    def asked(self) -> int:
        """Requests for anything but robots.txt."""
        return self.hits.total() - self.hits["/robots.txt"]


@contextmanager
def fetch_server(context: ssl.SSLContext | None = None) -> Iterator[FetchServer]:
    server = FetchServer(scheme="https" if context else "http")
    loop = asyncio.new_event_loop()
    runner = loop.run_until_complete(_start(server, context))
    thread = threading.Thread(target=loop.run_forever)
    thread.start()
    yield server
    asyncio.run_coroutine_threadsafe(runner.cleanup(), loop).result(30)
    loop.call_soon_threadsafe(loop.stop)
    thread.join()
    loop.close()


async def _start(server: FetchServer, context: ssl.SSLContext | None) -> web.AppRunner:
    app = web.Application(middlewares=[_count])
    app[HOST] = server
    app.add_routes(routes)
    runner = web.AppRunner(app, shutdown_timeout=0.1)
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", 0, ssl_context=context).start()
    server.port = runner.addresses[0][1]
    return runner


@web.middleware
async def _count(request: web.Request, handler: Any) -> web.StreamResponse:
    server = request.app[HOST]
    server.hits[request.path] += 1
    server.agents.add(request.headers.get("User-Agent", ""))
    if request.path == "/robots.txt":
        return web.Response(status=server.robots[0], text=server.robots[1])
    if not request.path.startswith("/image/"):
        answer: web.StreamResponse = await handler(request)
        return answer
    server.at_once += 1
    server.most_at_once = max(server.most_at_once, server.at_once)
    try:
        answer = await handler(request)
        return answer
    finally:
        server.at_once -= 1


@routes.get("/image/{number}.jpg")
async def image(request: web.Request) -> web.Response:
    await asyncio.sleep(0)  # lets requests meet, so that the most at once is seen
    return web.Response(body=jpeg(int(request.match_info["number"])), content_type="image/jpeg")


@routes.get("/typed")
async def wrong_type(_: web.Request) -> web.Response:
    return web.Response(body=jpeg(1), content_type="text/html")


@routes.get("/text")
async def no_image(_: web.Request) -> web.Response:
    return web.Response(body=b"<html>gone</html>", content_type="image/jpeg")


@routes.get("/cut")
async def cut(_: web.Request) -> web.Response:
    return web.Response(body=jpeg(1, (400, 300))[:600], content_type="image/jpeg")


@routes.get("/status/{status}")
async def status(request: web.Request) -> web.Response:
    return web.Response(status=int(request.match_info["status"]), headers=dict(request.query))


@routes.get("/busy/{status}/{times}")
async def busy(request: web.Request) -> web.Response:
    """Answers the status so many times, with the query as headers, then the image."""
    if request.app[HOST].hits[request.path] <= int(request.match_info["times"]):
        return web.Response(status=int(request.match_info["status"]), headers=dict(request.query))
    return web.Response(body=jpeg(2))


@routes.get("/hop/{left}")
async def hop(request: web.Request) -> web.Response:
    left = int(request.match_info["left"])
    return web.Response(status=302, headers={"Location": f"/hop/{left - 1}" if left else "/image/1.jpg"})


@routes.get("/loop")
async def loop(_: web.Request) -> web.Response:
    return web.Response(status=307, headers={"Location": "/loop"})


@routes.get("/to")
async def to(request: web.Request) -> web.Response:
    return web.Response(status=302, headers={"Location": request.query["url"]})


@routes.get("/tagged")
async def tagged(request: web.Request) -> web.Response:
    response = web.Response(body=jpeg(3))
    for tag in request.query.getall("tag"):
        response.headers.add("X-Robots-Tag", tag)
    return response


@routes.get("/echo/{header}")
async def echo(request: web.Request) -> web.Response:
    return web.Response(text=request.headers.get(request.match_info["header"], ""))


@routes.get("/bomb")
async def bomb(_: web.Request) -> web.Response:
    return web.Response(body=gzip.compress(bytes(2_000_000)), headers={"Content-Encoding": "gzip"})


@routes.get("/packed")
async def packed(_: web.Request) -> web.Response:
    return web.Response(body=gzip.compress(jpeg(4)), headers={"Content-Encoding": "gzip"})


@routes.get("/endless")
async def endless(request: web.Request) -> web.StreamResponse:
    return await _stream(request, piece=bytes(65_536), pause=0)


@routes.get("/drip")
async def drip(request: web.Request) -> web.StreamResponse:
    return await _stream(request, piece=b"\xff", pause=0.02)


@routes.get("/silent")
async def silent(_: web.Request) -> web.Response:
    await asyncio.sleep(30)
    return web.Response()


@routes.get("/short")
async def short(request: web.Request) -> web.StreamResponse:
    response = web.StreamResponse(headers={"Content-Length": "1000"})
    await response.prepare(request)
    await response.write(b"short")
    assert request.transport is not None
    request.transport.close()
    return response


@routes.get("/promised")
async def promised(request: web.Request) -> web.StreamResponse:
    """Promises far too much, and would take forever to send it."""
    response = web.StreamResponse(headers={"Content-Length": "99999999999"})
    await response.prepare(request)
    await asyncio.sleep(30)
    return response


async def _stream(request: web.Request, piece: bytes, pause: float) -> web.StreamResponse:
    response = web.StreamResponse()
    await response.prepare(request)
    try:
        while True:
            await response.write(piece)
            await asyncio.sleep(pause)
    except ConnectionError:
        return response
