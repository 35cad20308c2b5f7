import subprocess
import sys
from collections.abc import Callable, Iterator
from dataclasses import replace

import pytest
from alembic import command
from sqlalchemy import Engine, inspect, text

from service.config import Settings, child_environment
from service.db.base import Base
from service.db.migrate import alembic_config, downgrade, upgrade
from service.db.session import make_engine, transaction
from tests.conftest import ROOT
from tests.factories import lines, make_collection, publish_run


@pytest.fixture
def empty(new_database: Callable[[], str]) -> Iterator[Engine]:
    engine = make_engine(new_database())
    yield engine
    engine.dispose()


def tables(engine: Engine) -> set[str]:
    return set(inspect(engine).get_table_names()) - {"alembic_version"}


class TestUpgrade:
    def test_empty_database_gets_every_table(self, empty: Engine) -> None:
        upgrade(empty)
        assert tables(empty) == set(Base.metadata.tables)

    def test_second_time_changes_nothing(self, empty: Engine) -> None:
        upgrade(empty)
        with transaction(empty) as session:
            make_collection(session, 3)
        upgrade(empty)
        with empty.connect() as connection:
            assert connection.scalar(text("SELECT count(*) FROM pairs")) == 3

    def test_tables_are_what_the_classes_say(self, empty: Engine) -> None:
        upgrade(empty)
        config = alembic_config()
        with empty.connect() as connection:
            config.attributes["connection"] = connection
            command.check(config)  # raises where autogenerate finds a difference

    def test_two_processes_at_once_both_succeed(self, empty: Engine, settings: Settings) -> None:
        url = empty.url.render_as_string(hide_password=False)
        environment = child_environment(settings.model_copy(update={"database_url": url}))
        call = [sys.executable, "-m", "cli.main", "migrate"]
        children = [subprocess.Popen(call, env=environment, cwd=ROOT, stdout=subprocess.DEVNULL) for _ in range(2)]
        assert [child.wait(120) for child in children] == [0, 0]
        assert tables(empty) == set(Base.metadata.tables)


class TestDowngrade:
    def test_a_step_down_and_up_keeps_what_both_versions_know(self, empty: Engine) -> None:
        upgrade(empty)
        labelled = [replace(line, label="dog") for line in lines(2)]
        with transaction(empty) as session:
            publish_run(session, make_collection(session, labelled), {1: 0.5, 2: 0.9})
        downgrade(empty, "3a453a9207da")
        upgrade(empty)
        with empty.connect() as connection:
            found = connection.execute(text("SELECT clean_confidence, label_confidence FROM scores ORDER BY row")).all()
            labels = connection.execute(text("SELECT caption, label FROM pairs ORDER BY row")).all()
        assert [tuple(row) for row in found] == [(0.5, None), (pytest.approx(0.9), None)]
        assert [tuple(row) for row in labels] == [("caption number 1", None), ("caption number 2", None)]

    def test_database_with_data_goes_down_and_up_again(self, empty: Engine) -> None:
        upgrade(empty)
        with transaction(empty) as session:
            publish_run(session, make_collection(session, 3), {1: 0.5, 2: 0.9})
        downgrade(empty, "base")
        assert tables(empty) == set()
        upgrade(empty)
        with transaction(empty) as session:
            publish_run(session, make_collection(session, 3), {1: 0.5, 2: 0.9})
