import os
import subprocess
import sys
from pathlib import Path

import pytest
from pydantic import ValidationError

from service.config import Settings, child_environment


class TestSettings:
    @pytest.fixture(autouse=True)
    def no_environment(self, monkeypatch: pytest.MonkeyPatch) -> None:
        for name in list(os.environ):
            if name.startswith("PAIRSIFT_") or name in ("DATABASE_URL", "BROKER_URL"):
                monkeypatch.delenv(name)

    def test_nothing_configured_is_a_service_on_loopback(self) -> None:
        settings = Settings()
        assert (settings.database_url, settings.broker_url, settings.storage) == (None, None, None)
        assert settings.is_loopback
        assert settings.image_roots == ()
        assert not settings.fetch_private_addresses

    @pytest.mark.parametrize("scheme", ["postgres", "postgresql", "postgresql+psycopg"])
    def test_common_spellings_of_the_database_are_accepted(self, monkeypatch: pytest.MonkeyPatch, scheme: str) -> None:
        monkeypatch.setenv("DATABASE_URL", f"{scheme}://user:secret@host/name")
        assert Settings().required_database_url == "postgresql+psycopg://user:secret@host/name"

    def test_image_roots_are_separated_as_in_path(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setenv("PAIRSIFT_IMAGE_ROOTS", os.pathsep.join(["/a", "/b c", ""]))
        assert Settings().image_roots == (Path("/a"), Path("/b c"))

    @pytest.mark.parametrize(
        ("name", "value"),
        [
            ("PORT", "70000"),
            ("PORT", "web"),
            ("LEASE_SECONDS", "0"),
            ("MAX_UPLOAD_BYTES", "-1"),
            ("WORKER_CONCURRENCY", "0"),
            ("FETCH_PRIVATE_ADDRESSES", "perhaps"),
        ],
    )
    def test_wrong_value_stops_with_its_name(self, monkeypatch: pytest.MonkeyPatch, name: str, value: str) -> None:
        monkeypatch.setenv(f"PAIRSIFT_{name}", value)
        with pytest.raises(ValidationError, match=name.lower()):
            Settings()

    @pytest.mark.parametrize(
        ("attribute", "variable"),
        [
            ("required_database_url", "DATABASE_URL"),
            ("required_broker_url", "BROKER_URL"),
            ("required_storage", "PAIRSIFT_STORAGE"),
        ],
    )
    def test_missing_setting_is_named(self, attribute: str, variable: str) -> None:
        with pytest.raises(RuntimeError, match=variable):
            getattr(Settings(), attribute)

    def test_settings_cannot_be_changed(self) -> None:
        with pytest.raises(ValidationError):
            Settings().port = 1

    @pytest.mark.parametrize(("host", "expected"), [("::1", True), ("localhost", True), ("0.0.0.0", False)])
    def test_loopback_is_known(self, host: str, expected: bool) -> None:
        assert Settings(host=host).is_loopback is expected


class TestChildEnvironment:
    def test_child_sees_exactly_these_settings(self) -> None:
        settings = Settings(
            database_url="postgresql+psycopg://h/d",
            broker_url="redis://h",
            storage=Path("/s"),
            image_roots=(Path("/a"), Path("/b")),
            lease_seconds=1.5,
            follow_parent=True,
        )
        script = "from service.config import Settings; import sys; sys.stdout.write(Settings().model_dump_json())"
        child = subprocess.run(
            [sys.executable, "-c", script],
            env=child_environment(settings),
            capture_output=True,
            text=True,
            check=True,
        )
        assert Settings.model_validate_json(child.stdout) == settings

    def test_what_is_not_set_here_is_not_inherited(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setenv("PAIRSIFT_KEY", "psk_of_the_caller")
        settings = Settings().model_copy(update={"key": None})
        assert "PAIRSIFT_KEY" not in child_environment(settings)
        assert child_environment(settings)["PATH"] == os.environ["PATH"]
