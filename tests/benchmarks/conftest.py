"""The made-up folder, once for all tests here."""

from pathlib import Path

import pytest

from tests.benchmarks.made_up import make_folder


@pytest.fixture(scope="session")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make_folder(tmp_path_factory.mktemp("flickr"))
