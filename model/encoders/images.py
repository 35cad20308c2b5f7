"""Bytes from strangers -> an RGB picture, or an ImageError that says why not. Four formats, a cap on pixels."""

import io
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Literal

import numpy as np
from PIL import Image

FORMATS = ("JPEG", "PNG", "WEBP", "GIF")
MAX_PIXELS = 50_000_000  # 150 MB once decoded; below the size at which Pillow itself begins to warn

# Between one and two times its own limit Pillow only warns; a file like that is never wanted here.
warnings.filterwarnings("error", category=Image.DecompressionBombWarning)

Reason = Literal["not_an_image", "truncated", "too_many_pixels"]

_ORIENTATION_TAG = 0x0112
_TURNS = {
    2: Image.Transpose.FLIP_LEFT_RIGHT,
    3: Image.Transpose.ROTATE_180,
    4: Image.Transpose.FLIP_TOP_BOTTOM,
    5: Image.Transpose.TRANSPOSE,
    6: Image.Transpose.ROTATE_270,
    7: Image.Transpose.TRANSVERSE,
    8: Image.Transpose.ROTATE_90,
}


@dataclass(frozen=True)
class OpenedImage:
    image: Image.Image  # RGB, upright
    width: int  # as one sees it, before any resizing
    height: int


class ImageError(ValueError):
    """The bytes give no picture; `reason` is a short code, the message is for a person."""

    def __init__(self, reason: Reason, message: str) -> None:
        super().__init__(message)
        self.reason = reason


def open_image(data: bytes, enough: int | None = None) -> OpenedImage:
    """Decode safely: format and size are checked on the header, before any pixel is unpacked.

    A JPEG may come at a half, a quarter or an eighth of its size as long as both sides have `enough` pixels.
    """
    with _faults_named(data):
        image = _open_header(data)
        size = image.size
        if enough is not None:
            image.draft(None, (enough, enough))
        image.load()
        orientation = _orientation(image)  # before the conversion, which may lose it
        picture = _upright(_rgb(image), orientation)
    return OpenedImage(picture, *_upright_size(size, orientation))


def image_size(data: bytes) -> tuple[int, int]:
    """Width and height as one sees them, from the header alone; the same checks, but no pixel is unpacked."""
    with _faults_named(data):
        image = _open_header(data)
        return _upright_size(image.size, _orientation(image))


def _open_header(data: bytes) -> Image.Image:
    image = Image.open(io.BytesIO(data), formats=FORMATS)
    _check_size(image)
    return image


@contextmanager
def _faults_named(data: bytes) -> Iterator[None]:
    try:
        yield
    except (ImageError, MemoryError):
        raise
    except (Image.DecompressionBombError, Image.DecompressionBombWarning) as error:
        raise ImageError("too_many_pixels", str(error)) from error
    except Exception as error:  # Pillow's decoders raise nearly every kind on damaged bytes
        if _begins_like_an_image(data):
            raise ImageError("truncated", f"The image is cut short or damaged: {error}") from error
        raise ImageError("not_an_image", "The bytes are no JPEG, PNG, WEBP or GIF image.") from error


def _check_size(image: Image.Image) -> None:
    if image.width * image.height > MAX_PIXELS:
        raise ImageError(
            "too_many_pixels", f"{image.width} x {image.height} pixels; at most {MAX_PIXELS:,} are decoded."
        )


def _rgb(image: Image.Image) -> Image.Image:
    if image.mode.startswith("I"):
        # 16-bit grey: Pillow's own conversion clips at 255 and leaves a white picture.
        grey = np.clip(np.asarray(image), 0, 65_535) // 256
        return Image.fromarray(grey.astype(np.uint8)).convert("RGB")
    if image.has_transparency_data:
        layer = image.convert("RGBA")
        white = Image.new("RGBA", layer.size, "white")
        return Image.alpha_composite(white, layer).convert("RGB")
    return image if image.mode == "RGB" else image.convert("RGB")


def _upright_size(size: tuple[int, int], orientation: int | None) -> tuple[int, int]:
    is_turned = (orientation or 1) >= 5  # the four that swap the sides
    return size[::-1] if is_turned else size


def _upright(image: Image.Image, orientation: int | None) -> Image.Image:
    turn = _TURNS.get(orientation or 1)
    return image if turn is None else image.transpose(turn)


def _orientation(image: Image.Image) -> int | None:
    try:
        orientation = image.getexif().get(_ORIENTATION_TAG)
    except Exception:  # a damaged EXIF block does not make the picture unusable
        return None
    return orientation if isinstance(orientation, int) and orientation in _TURNS else None


def _begins_like_an_image(data: bytes) -> bool:
    return data.startswith((b"\xff\xd8\xff", b"\x89PNG\r\n\x1a\n", b"GIF87a", b"GIF89a")) or (
        data.startswith(b"RIFF") and data[8:12] == b"WEBP"
    )
