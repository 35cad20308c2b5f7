"""Decoding of pictures from strangers: every mode becomes upright RGB, everything else a reason."""

import io
import struct
import zlib

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from PIL import Image

from model.encoders import images
from model.encoders.images import ImageError, open_image

RED = (255, 0, 0)


def encoded(image: Image.Image, kind: str, **options: object) -> bytes:
    file = io.BytesIO()
    image.save(file, kind, **options)
    return file.getvalue()


def colour_at(data: bytes, x: int = 0, y: int = 0) -> tuple[int, ...]:
    opened = open_image(data)
    assert opened.image.mode == "RGB"
    colour = opened.image.getpixel((x, y))
    assert isinstance(colour, tuple)
    return colour


def png_of_size(width: int, height: int) -> bytes:
    """A PNG that says how large it is and holds next to nothing: the beginning of a decompression bomb."""

    def chunk(kind: bytes, body: bytes) -> bytes:
        return struct.pack(">I", len(body)) + kind + body + struct.pack(">I", zlib.crc32(kind + body))

    header = struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0)
    return b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", header) + chunk(b"IDAT", zlib.compress(b"\0" * 9))


def photo() -> Image.Image:
    pixels = np.random.default_rng(0).integers(0, 256, (64, 96, 3), np.uint8)
    return Image.fromarray(pixels)


class TestOpenImage:
    @pytest.mark.parametrize("kind", ["PNG", "GIF", "WEBP", "JPEG"])
    def test_allowed_formats_become_rgb(self, kind: str) -> None:
        opened = open_image(encoded(Image.new("RGB", (8, 4), RED), kind, quality=95))
        assert (opened.image.mode, opened.width, opened.height) == ("RGB", 8, 4)
        assert np.abs(np.asarray(opened.image, int) - RED).max() < 8

    @pytest.mark.parametrize(
        ("mode", "colour", "kind", "expected"),
        [
            ("L", 100, "PNG", (100, 100, 100)),
            ("1", 1, "PNG", (255, 255, 255)),
            ("LA", (0, 0), "PNG", (255, 255, 255)),
            ("LA", (0, 255), "PNG", (0, 0, 0)),
            ("RGBA", (255, 0, 0, 0), "PNG", (255, 255, 255)),
            ("RGBA", (255, 0, 0, 128), "PNG", (255, 127, 127)),
            ("RGBA", (255, 0, 0, 0), "WEBP", (255, 255, 255)),
            ("I;16", 0x8000, "PNG", (128, 128, 128)),
            ("CMYK", (0, 255, 255, 0), "JPEG", (255, 0, 0)),
        ],
    )
    def test_other_modes_become_what_one_sees(
        self, mode: str, colour: int | tuple[int, ...], kind: str, expected: tuple[int, ...]
    ) -> None:
        data = encoded(Image.new(mode, (8, 8), colour), kind)
        assert np.abs(np.subtract(colour_at(data), expected)).max() <= 2

    def test_palette_with_a_transparent_entry_lies_on_white(self) -> None:
        image = Image.new("P", (4, 4), 1)
        image.putpalette([0, 0, 0, 255, 0, 0])
        image.putpixel((0, 0), 0)
        data = encoded(image, "PNG", transparency=0)
        assert colour_at(data) == (255, 255, 255)
        assert colour_at(data, 2, 2) == RED

    def test_transparent_colour_of_an_rgb_image_lies_on_white(self) -> None:
        assert colour_at(encoded(Image.new("RGB", (4, 4), RED), "PNG", transparency=RED)) == (255, 255, 255)

    def test_animation_gives_its_first_frame(self) -> None:
        frames = [Image.new("RGB", (4, 4), colour) for colour in ("red", "blue")]
        assert colour_at(encoded(frames[0], "GIF", save_all=True, append_images=frames[1:])) == RED

    @pytest.mark.parametrize("orientation", range(1, 9))
    def test_exif_orientation_is_applied(self, orientation: int) -> None:
        upright = Image.new("RGB", (6, 4))
        upright.putpixel((0, 0), RED)
        upright.putpixel((5, 0), (0, 0, 255))
        # How a camera held the other way would have stored it: the inverse of what the tag asks for.
        inverse = {2: 0, 3: 3, 4: 1, 5: 5, 6: 2, 7: 6, 8: 4}
        stored = upright.transpose(Image.Transpose(inverse[orientation])) if orientation > 1 else upright
        exif = Image.Exif()
        exif[0x0112] = orientation
        opened = open_image(encoded(stored, "PNG", exif=exif))
        assert (opened.width, opened.height) == (6, 4)
        assert opened.image.tobytes() == upright.tobytes()

    def test_exif_orientation_of_a_transparent_picture_is_applied(self) -> None:
        exif = Image.Exif()
        exif[0x0112] = 6
        opened = open_image(encoded(Image.new("RGBA", (6, 4), (255, 0, 0, 128)), "PNG", exif=exif))
        assert (opened.width, opened.height) == opened.image.size == (4, 6)

    def test_jpeg_may_come_smaller_when_less_is_enough(self) -> None:
        exif = Image.Exif()
        exif[0x0112] = 6
        data = encoded(Image.new("RGB", (803, 401), RED), "JPEG", exif=exif)
        opened = open_image(data, enough=200)
        assert (opened.width, opened.height, opened.image.size) == (401, 803, (201, 402))
        assert open_image(data, enough=202).image.size == (401, 803)

    def test_other_formats_come_whole_whatever_is_enough(self) -> None:
        assert open_image(encoded(photo(), "PNG"), enough=10).image.size == (96, 64)

    def test_damaged_exif_is_ignored(self) -> None:
        data = encoded(Image.new("RGB", (8, 8), RED), "PNG", exif=b"Exif\0\0MM\0*nonsense")
        assert colour_at(data) == RED

    @pytest.mark.parametrize("kind", ["PNG", "GIF", "WEBP", "JPEG"])
    @pytest.mark.parametrize("share", [0.03, 0.5, 0.9])
    def test_cut_short_is_truncated(self, kind: str, share: float) -> None:
        data = encoded(photo(), kind)
        with pytest.raises(ImageError) as caught:
            open_image(data[: int(len(data) * share)])
        assert caught.value.reason == "truncated"

    @pytest.mark.parametrize(
        "data",
        [
            b"",
            b"<html>404</html>",
            b"<svg xmlns='http://www.w3.org/2000/svg'/>",
            encoded(Image.new("RGB", (4, 4)), "BMP"),
            encoded(Image.new("RGB", (4, 4)), "TIFF"),
        ],
    )
    def test_anything_else_is_not_an_image(self, data: bytes) -> None:
        with pytest.raises(ImageError) as caught:
            open_image(data)
        assert caught.value.reason == "not_an_image"

    @pytest.mark.parametrize("side", [7_072, 10_000, 12_000, 30_000])
    def test_too_many_pixels_are_refused_before_they_are_unpacked(self, side: int) -> None:
        """Above our cap, above the size at which Pillow warns, and above the one at which it raises."""
        with pytest.raises(ImageError) as caught:
            open_image(png_of_size(side, side))
        assert caught.value.reason == "too_many_pixels"

    def test_the_cap_itself_is_allowed(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(images, "MAX_PIXELS", 64)
        assert open_image(encoded(Image.new("RGB", (8, 8)), "PNG")).width == 8
        with pytest.raises(ImageError, match="9 x 8 pixels"):
            open_image(encoded(Image.new("RGB", (9, 8)), "PNG"))

    @settings(deadline=None, max_examples=60)
    @given(kind=st.sampled_from(["PNG", "GIF", "WEBP", "JPEG"]), data=st.data())
    def test_damaged_bytes_give_a_picture_or_an_image_error(self, kind: str, data: st.DataObject) -> None:
        content = bytearray(encoded(photo(), kind))
        for _ in range(data.draw(st.integers(1, 8))):
            content[data.draw(st.integers(0, len(content) - 1))] = data.draw(st.integers(0, 255))
        try:
            outcome = open_image(bytes(content)).image.mode
        except ImageError as error:
            outcome = error.reason
        assert outcome in {"RGB", "truncated", "not_an_image", "too_many_pixels"}
