"""Real servers for all tests: the embedded ones, or those that DATABASE_URL and BROKER_URL name."""

import os
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from uuid import uuid4

import httpx2 as httpx
import hypothesis
import pytest
import uvicorn
from sqlalchemy import Engine, make_url, text

from cli.stack import temporary_data_folder
from model.demo.collection import generate
from service import keys
from service.client import Client
from service.config import Settings, child_environment
from service.db.migrate import upgrade
from service.db.session import make_engine, transaction
from service.db.states import Scope
from service.embedded import Servers, embedded_servers
from service.main import create_app

# The same examples every time, so that a change is judged by itself and not by luck. `--hypothesis-profile=search`
# looks for new ones.
hypothesis.settings.register_profile("steady", derandomize=True)
hypothesis.settings.register_profile("search", derandomize=False)
hypothesis.settings.load_profile("steady")

ROOT = Path(__file__).resolve().parents[1]
PAIRS = 96  # of the small demo collection
FLICKR8K = ROOT.parent / "shared" / "data" / "flickr8k"


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Tests of the whole product, which are not in any room, come first: the longest of them would keep one process
    busy for minutes when all others are done."""
    items.sort(key=lambda item: len(item.path.parts))


@pytest.fixture(scope="session")
def servers() -> Iterator[Servers]:
    configured = Settings()
    if configured.database_url and configured.broker_url:
        yield Servers(configured.database_url, configured.broker_url)
        return
    # Not below pytest's own folder, which is private: as root, PostgreSQL runs under another account.
    with temporary_data_folder() as folder, embedded_servers(folder) as running:
        _spare_the_disk(running)
        yield running


def _spare_the_disk(servers: Servers) -> None:
    """These databases need not survive a power cut; their last checkpoint would take most of a minute."""
    admin = make_engine(servers.database_url).execution_options(isolation_level="AUTOCOMMIT")
    with admin.connect() as connection:
        connection.execute(text("ALTER SYSTEM SET fsync = off"))
        connection.execute(text("SELECT pg_reload_conf()"))
    admin.dispose()


@pytest.fixture(scope="session")
def new_database(servers: Servers) -> Iterator[Callable[[], str]]:
    """Makes empty databases, which are gone at the end."""
    made: list[str] = []
    admin = make_engine(servers.database_url).execution_options(isolation_level="AUTOCOMMIT")

    def make() -> str:
        name = f"pairsift_test_{uuid4().hex[:12]}"
        with admin.connect() as connection:
            connection.execute(text(f"CREATE DATABASE {name}"))
        made.append(name)
        return make_url(servers.database_url).set(database=name).render_as_string(hide_password=False)

    yield make
    # Every DROP costs a checkpoint; the embedded server goes away with its folder anyway.
    if servers.database_url == Settings().database_url:
        with admin.connect() as connection:
            for name in made:
                connection.execute(text(f"DROP DATABASE {name} WITH (FORCE)"))
    admin.dispose()


@pytest.fixture(scope="module")
def quiet_engine(new_database: Callable[[], str]) -> Iterator[Engine]:
    """A migrated database that no worker looks at."""
    engine = make_engine(new_database())
    upgrade(engine)
    yield engine
    engine.dispose()


@pytest.fixture(scope="session")
def settings(servers: Servers, new_database: Callable[[], str], tmp_path_factory: pytest.TempPathFactory) -> Settings:
    """Short leases, so that recovery is seen within seconds."""
    storage = tmp_path_factory.mktemp("storage")
    return Settings(
        database_url=new_database(),
        broker_url=servers.broker_url,
        storage=storage,
        data=storage,
        host="127.0.0.1",
        port=0,
        image_roots=(Path("/"),),
        fetch_private_addresses=True,
        lease_seconds=3.0,
        heartbeat_seconds=0.5,
        reconcile_seconds=0.5,
        announce_again_seconds=2.0,
        threads=1,
        max_upload_bytes=20_000_000,
    )


@pytest.fixture(scope="session")
def engine(settings: Settings) -> Iterator[Engine]:
    engine = make_engine(settings.required_database_url)
    upgrade(engine)
    yield engine
    engine.dispose()


@contextmanager
def serving(settings: Settings) -> Iterator[str]:
    server = uvicorn.Server(uvicorn.Config(create_app(settings), host="127.0.0.1", port=0, log_level="critical"))
    thread = threading.Thread(target=server.run)
    thread.start()
    while not server.started and thread.is_alive():
        thread.join(0.02)
    try:
        yield f"http://127.0.0.1:{server.servers[0].sockets[0].getsockname()[1]}"
    finally:
        server.should_exit = True
        thread.join()


@pytest.fixture(scope="session")
def service_url(settings: Settings, engine: Engine) -> Iterator[str]:
    """The service behind a real socket."""
    with serving(settings) as url:
        yield url


def start_worker(settings: Settings) -> subprocess.Popen[bytes]:
    """A worker in a process group of its own, so that a test can kill all of it."""
    environment = child_environment(settings.model_copy(update={"follow_parent": True}))
    command = [sys.executable, "-m", "cli.main", "worker"]
    return subprocess.Popen(command, env=environment, cwd=ROOT, start_new_session=True)


def stop_worker(worker: subprocess.Popen[bytes]) -> None:
    worker.terminate()
    worker.wait(60)


@pytest.fixture(scope="session")
def worker(settings: Settings, engine: Engine) -> Iterator[subprocess.Popen[bytes]]:
    process = start_worker(settings)
    yield process
    stop_worker(process)


def make_key(engine: Engine, scope: Scope, workspace: str | None = None) -> str:
    with transaction(engine) as session:
        return keys.create_key(session, "test", [scope], workspace=workspace or uuid4().hex)[1]


@pytest.fixture
def http(service_url: str, engine: Engine) -> Iterator[httpx.Client]:
    """A plain client with a write key of a workspace of its own."""
    headers = {"Authorization": f"Bearer {make_key(engine, Scope.WRITE)}"}
    with httpx.Client(base_url=service_url, headers=headers, trust_env=False, timeout=30) as client:
        yield client


@pytest.fixture
def client(service_url: str, engine: Engine) -> Iterator[Client]:
    client = Client(service_url, make_key(engine, Scope.WRITE))
    yield client
    client.close()


@pytest.fixture(scope="session")
def flickr8k() -> Path:
    if not FLICKR8K.is_dir():
        pytest.skip(f"needs the Flickr8k folder, which is not at {os.path.relpath(FLICKR8K, ROOT)}")
    return FLICKR8K


@pytest.fixture(scope="session")
def scenes(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A small demo collection: pairs.tsv, images/ and the truth."""
    folder = tmp_path_factory.mktemp("scenes")
    generate(folder, pairs=PAIRS, noise=0.3, seed=3, processes=1)
    return folder
