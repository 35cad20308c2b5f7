"""Image files on this machine: only inside the folders the operator allowed."""

from collections.abc import Sequence
from pathlib import Path
from urllib.parse import unquote, urlsplit

from worker.fetch.errors import FetchClass, FetchError


def local_path(url: str, image_root: str | None) -> Path | None:
    """The file that a `file:` URL or a path below the collection's image root names; None for other URLs."""
    parts = urlsplit(url)
    if parts.scheme == "file":
        if parts.netloc not in ("", "localhost"):
            raise FetchError(FetchClass.UNSUPPORTED_URL, f"a file URL must not name a host: {url}")
        return Path(unquote(parts.path))
    if parts.scheme in ("http", "https"):
        return None
    if image_root is None:
        raise FetchError(FetchClass.UNSUPPORTED_URL, f"neither http, https nor file: {url}")
    return Path(image_root) / url


def read_file(path: Path, roots: Sequence[Path], max_bytes: int) -> bytes:
    """The bytes of a regular file below one of the roots, links followed before the check."""
    try:
        real = path.resolve(strict=True)
        if not any(real.is_relative_to(root.resolve()) for root in roots):
            raise FetchError(FetchClass.BLOCKED_PATH, f"{path} is not below a folder in PAIRSIFT_IMAGE_ROOTS")
        if not real.is_file():
            raise FetchError(FetchClass.UNREADABLE, f"{path} is not a file")
        if real.stat().st_size > max_bytes:
            raise FetchError(FetchClass.TOO_LARGE, f"{path} is larger than {max_bytes:,} bytes")
        return real.read_bytes()
    except FileNotFoundError:
        raise FetchError(FetchClass.NOT_FOUND, f"there is no file {path}") from None
    except (OSError, ValueError) as error:
        raise FetchError(FetchClass.UNREADABLE, f"{path} cannot be read: {error}") from error
