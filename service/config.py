"""Settings: read once from the environment at start; a wrong value stops the process with its name."""

import os
from pathlib import Path
from typing import Annotated

from pydantic import AliasChoices, Field, field_validator
from pydantic_settings import BaseSettings, NoDecode, SettingsConfigDict

LOOPBACK_HOSTS = frozenset({"127.0.0.1", "::1", "localhost"})


class Settings(BaseSettings):
    model_config = SettingsConfigDict(env_prefix="PAIRSIFT_", extra="ignore", frozen=True)

    # Where things live. Without the two addresses the embedded servers under `data` are used.
    database_url: str | None = Field(default=None, validation_alias=AliasChoices("DATABASE_URL", "database_url"))
    broker_url: str | None = Field(default=None, validation_alias=AliasChoices("BROKER_URL", "broker_url"))
    xdg_data_home: str | None = Field(default=None, validation_alias="XDG_DATA_HOME")
    data: Path | None = None
    storage: Path | None = None
    # An fsspec URL (s3://bucket/prefix) where workers on several machines share features; the storage holds copies.
    features_url: str | None = None

    # The web service.
    host: str = "127.0.0.1"
    port: int = Field(default=8000, ge=0, le=65535)
    max_upload_bytes: int = Field(default=50 * 2**30, ge=1)

    # What a client of the service needs.
    url: str | None = None
    key: str | None = None

    # Folders whose files a user may name: by `file:` URLs, as a folder to read in place, as weights of an encoder or as
    # a detector. Empty means none: on a shared service they would let any user read the server's files.
    image_roots: Annotated[tuple[Path, ...], NoDecode] = ()
    # Loopback and private addresses, and ports other than 80 and 443, are refused over http(s) unless this is set.
    fetch_private_addresses: bool = False
    fetch_timeout_seconds: float = Field(default=20.0, gt=0)  # of one image, all redirects included
    fetch_connect_timeout_seconds: float = Field(default=10.0, gt=0)
    fetch_contact: Annotated[str, Field(pattern=r"^[!-'*-~]*$")] = ""  # URL or e-mail, shown to hosts in User-Agent
    fetch_respect_robots: bool = True
    fetch_disallowed_directives: Annotated[tuple[str, ...], NoDecode] = (  # of X-Robots-Tag
        "noai", "noimageai", "noindex", "noimageindex", "none",
    )  # fmt: skip
    fetch_concurrency: int = Field(default=64, ge=1)
    fetch_host_concurrency: int = Field(default=4, ge=1)
    fetch_host_delay_seconds: float = Field(default=0.05, ge=0)  # between the starts of two requests to a host
    fetch_max_wait_seconds: float = Field(default=300.0, ge=0)  # a host that asks for more is left alone for the run
    fetch_retries: int = Field(default=2, ge=0)
    fetch_host_failures: int = Field(default=10, ge=1)  # in a row, then the host is given up for the run
    fetch_decoders: int = Field(default=2, ge=1)  # processes that decode what arrived
    max_image_bytes: int = Field(default=50 * 2**20, ge=1)

    # The job design (ARCHITECTURE.md, "The life of a job").
    lease_seconds: float = Field(default=60.0, gt=0)
    heartbeat_seconds: float = Field(default=15.0, gt=0)
    reconcile_seconds: float = Field(default=15.0, gt=0)
    announce_again_seconds: float = Field(default=30.0, gt=0)
    worker_concurrency: int = Field(default=2, ge=1)
    threads: int | None = Field(
        default=None, ge=1
    )  # of a stage that computes; by default encoding takes all cores, training one
    follow_parent: bool = False  # end when the process that started this one ends

    @field_validator("database_url")
    @classmethod
    def use_psycopg(cls, url: str | None) -> str | None:
        """Accept the common spellings; SQLAlchemy wants the driver named."""
        for plain in ("postgres://", "postgresql://"):
            if url and url.startswith(plain):
                return "postgresql+psycopg://" + url.removeprefix(plain)
        return url

    @field_validator("image_roots", mode="before")
    @classmethod
    def split_roots(cls, value: object) -> object:
        """Folders are separated as in PATH."""
        if isinstance(value, str):
            return tuple(Path(part) for part in value.split(os.pathsep) if part)
        return value

    @field_validator("fetch_disallowed_directives", mode="before")
    @classmethod
    def split_directives(cls, value: object) -> object:
        """Commas or, as child_environment writes them, the separator of PATH."""
        if isinstance(value, str):
            return tuple(part.strip().lower() for part in value.replace(os.pathsep, ",").split(",") if part.strip())
        return value

    @property
    def required_database_url(self) -> str:
        return self._required(self.database_url, "DATABASE_URL")

    @property
    def required_broker_url(self) -> str:
        return self._required(self.broker_url, "BROKER_URL")

    @property
    def required_storage(self) -> Path:
        return Path(self._required(str(self.storage or ""), "PAIRSIFT_STORAGE"))

    @property
    def is_loopback(self) -> bool:
        return self.host in LOOPBACK_HOSTS

    @staticmethod
    def _required(value: str | None, name: str) -> str:
        if not value:
            raise RuntimeError(f"{name} is not set; `pairsift serve` without settings starts everything embedded")
        return value


def child_environment(settings: Settings) -> dict[str, str]:
    """The environment for a child process that shall see exactly these settings."""
    plain = {"database_url": "DATABASE_URL", "broker_url": "BROKER_URL", "xdg_data_home": "XDG_DATA_HOME"}
    environment = dict(os.environ)
    for name, value in settings.model_dump().items():
        variable = plain.get(name, f"PAIRSIFT_{name.upper()}")
        if value is None:
            environment.pop(variable, None)
        else:
            environment[variable] = os.pathsep.join(map(str, value)) if isinstance(value, tuple) else str(value)
    return environment
