import asyncio
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from sqlalchemy import Engine

from service.config import Settings
from service.db.migrate import upgrade
from service.db.session import make_engine
from service.db.states import Scope
from service.main import create_app, lifespan
from tests.conftest import make_key


def start_and_stop(settings: Settings) -> None:
    async def run() -> None:
        async with lifespan(create_app(settings)):
            pass

    asyncio.run(run())


class TestLifespan:
    @pytest.fixture
    def keyless(self, new_database: Callable[[], str]) -> Iterator[Engine]:
        """Without a single key."""
        engine = make_engine(new_database())
        upgrade(engine)
        yield engine
        engine.dispose()

    @pytest.fixture
    def fresh(self, idle_settings: Settings, keyless: Engine, tmp_path: Path) -> Settings:
        url = keyless.url.render_as_string(hide_password=False)
        return idle_settings.model_copy(update={"database_url": url, "storage": tmp_path / "storage"})

    def test_service_open_to_others_refuses_to_start_without_a_key(self, fresh: Settings, keyless: Engine) -> None:
        open_to_all = fresh.model_copy(update={"host": "0.0.0.0"})
        with pytest.raises(RuntimeError, match="pairsift keys create"):
            start_and_stop(open_to_all)
        make_key(keyless, Scope.ADMIN)
        start_and_stop(open_to_all)
        assert open_to_all.required_storage.is_dir()

    def test_service_on_loopback_needs_no_key_to_start(self, fresh: Settings) -> None:
        start_and_stop(fresh)
        assert fresh.required_storage.is_dir()

    def test_storage_that_cannot_be_a_folder_stops_the_start(self, fresh: Settings, tmp_path: Path) -> None:
        (tmp_path / "storage").write_text("a file")
        with pytest.raises(FileExistsError):
            start_and_stop(fresh)


class TestCreateApp:
    def test_missing_address_is_named(self, idle_settings: Settings) -> None:
        with pytest.raises(RuntimeError, match="BROKER_URL"):
            create_app(idle_settings.model_copy(update={"broker_url": None}))
