"""A second service, on a database that no worker looks at: what is accepted there stays as it is."""

from collections.abc import Callable, Iterator

import httpx2 as httpx
import pytest
from sqlalchemy import Engine, delete

from service.config import Settings
from service.db.migrate import upgrade
from service.db.session import make_engine, transaction
from service.db.tables import Workspace
from tests.service.serving import caller, serving


@pytest.fixture(scope="session")
def idle_settings(
    settings: Settings, new_database: Callable[[], str], tmp_path_factory: pytest.TempPathFactory
) -> Settings:
    changes = {"database_url": new_database(), "storage": tmp_path_factory.mktemp("idle"), "max_upload_bytes": 500_000}
    return settings.model_copy(update=changes)


@pytest.fixture(scope="session")
def idle_engine(idle_settings: Settings) -> Iterator[Engine]:
    engine = make_engine(idle_settings.required_database_url)
    upgrade(engine)
    yield engine
    engine.dispose()


@pytest.fixture(scope="session")
def idle_url(idle_settings: Settings, idle_engine: Engine) -> Iterator[str]:
    with serving(idle_settings) as url:
        yield url


@pytest.fixture
def idle_http(idle_url: str, idle_engine: Engine) -> Iterator[httpx.Client]:
    """A plain client with a write key of a workspace of its own."""
    with caller(idle_url, idle_engine) as client:
        yield client


@pytest.fixture
def clean_engine(quiet_engine: Engine) -> Iterator[Engine]:
    """The database of the module, emptied after every test."""
    yield quiet_engine
    with transaction(quiet_engine) as session:
        session.execute(delete(Workspace))
