"""The fetch stage over a real host on loopback, on a database that no worker looks at."""

import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest
from sqlalchemy import Engine

from service.config import Settings
from service.db.session import transaction
from service.storage import Storage
from tests.factories import Line, make_collection, make_run
from tests.service.machine import claimed, first_stage
from worker.lease import Lease, Stopped, shutdown
from worker.stages import fetch
from worker.stages.context import StageContext

PAIRS = 300
hits: list[str] = []


class Host(BaseHTTPRequestHandler):
    """Asks the worker to stop as soon as the first image is asked for."""

    def do_GET(self) -> None:
        hits.append(self.path)
        shutdown.set()
        self.send_response(404)
        self.end_headers()

    def log_message(self, *_: object) -> None:
        pass


@pytest.fixture
def host() -> Iterator[str]:
    hits.clear()
    with ThreadingHTTPServer(("127.0.0.1", 0), Host) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        yield f"http://127.0.0.1:{server.server_address[1]}"
        server.shutdown()
        thread.join()
    shutdown.clear()


class TestRun:
    def test_a_stop_is_heeded_within_a_chunk(self, quiet_engine: Engine, host: str, tmp_path: Path) -> None:
        lines = [Line(url=f"{host}/{number}.jpg", caption=f"caption {number}") for number in range(PAIRS)]
        with transaction(quiet_engine) as session:
            run_id = make_run(session, make_collection(session, lines)).id
        settings = Settings(fetch_private_addresses=True)
        lease = Lease(quiet_engine, claimed(quiet_engine, first_stage(quiet_engine, run_id)), settings)
        with pytest.raises(Stopped):
            fetch.run(StageContext(lease, Storage(tmp_path)))
        assert 1 <= len(hits) <= 2 * fetch.THREADS
