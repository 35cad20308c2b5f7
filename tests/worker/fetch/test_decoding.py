"""The real child process, and children that misbehave in all the ways a hostile image can make one."""

import io
import os
import signal
import sys
from collections.abc import Iterator

import pytest
from PIL import Image

from tests.worker.fetch_server import jpeg
from worker.fetch import decoder as child
from worker.fetch.decoding import Decoder
from worker.fetch.errors import FetchClass, FetchError


@pytest.fixture(scope="module")
def real() -> Iterator[Decoder]:
    decoder = Decoder()
    yield decoder
    decoder.close()


def class_of(decoder: Decoder, data: bytes) -> FetchClass:
    with pytest.raises(FetchError) as caught:
        decoder.decode(data)
    return caught.value.error_class


def saved(image: Image.Image, kind: str, **options: object) -> bytes:
    file = io.BytesIO()
    image.save(file, kind, **options)
    return file.getvalue()


class TestDecode:
    def test_size_is_that_of_the_original(self, real: Decoder) -> None:
        decoded = real.decode(jpeg(size=(800, 400)))
        assert (decoded.width, decoded.height) == (800, 400)

    @pytest.mark.parametrize(("size", "expected"), [((800, 400), (256, 128)), ((30, 20), (30, 20))])
    def test_thumbnail_is_a_small_jpeg(self, real: Decoder, size: tuple[int, int], expected: tuple[int, int]) -> None:
        thumbnail = Image.open(io.BytesIO(real.decode(jpeg(size=size)).thumbnail))
        assert (thumbnail.format, thumbnail.size) == ("JPEG", expected)

    def test_nothing_of_the_file_comes_along(self, real: Decoder) -> None:
        exif = Image.Exif()
        exif[0x010E] = "SECRET description"
        data = saved(Image.new("RGB", (50, 40)), "JPEG", exif=exif, comment=b"SECRET", icc_profile=b"SECRET profile")
        assert data.count(b"SECRET") == 3
        assert b"SECRET" not in real.decode(data).thumbnail

    @pytest.mark.parametrize("kind", ["PNG", "WEBP", "GIF"])
    def test_other_formats_are_decoded(self, real: Decoder, kind: str) -> None:
        assert real.decode(saved(Image.new("RGBA", (12, 9)), kind)).width == 12

    @pytest.mark.parametrize(
        ("data", "expected"),
        [
            (b"", "not_an_image"),
            (b"<html>", "not_an_image"),
            (jpeg(size=(400, 300))[:600], "truncated"),
            (saved(Image.new("1", (9000, 9000)), "PNG"), "too_many_pixels"),
        ],
        ids=["empty", "html", "cut", "huge"],
    )
    def test_what_is_no_good_image_has_a_class(self, real: Decoder, data: bytes, expected: str) -> None:
        assert class_of(real, data) == expected

    def test_one_child_serves_many(self, real: Decoder) -> None:
        real.decode(jpeg(1))
        assert real._child is not None
        pid = real._child.pid
        for number in range(5):
            real.decode(jpeg(number))
        assert real._child.pid == pid


def playing(script: str) -> Decoder:
    """A child that reads one frame and then does what the script says, with the real limits in place."""
    prelude = "import os, resource, socket, sys, time\nfrom worker.fetch import decoder as d\n"
    replaced = f"def answer(data):\n    {script}\nd._answer = answer\nd.CPU_SECONDS = 1\nd.main()\n"
    return Decoder((sys.executable, "-c", prelude + replaced), wall_seconds=5.0)


class TestCrash:
    @pytest.mark.parametrize(
        "script",
        [
            "os.abort()",
            "os._exit(0)",
            "raise MemoryError",
            "bytearray(4 * 2**30)",
            "while True: pass",
            "open('/tmp/pairsift-must-not-be-written', 'w').write('x')",
            "return d.REPLY.pack(True, 1, 1, 0xFFFFFFFF)",
        ],
        ids=["signal", "exit", "memory", "memory-limit", "endless", "writes", "lies"],
    )
    def test_a_child_that_dies_is_a_class_of_its_image(self, script: str) -> None:
        decoder = playing(script)
        assert class_of(decoder, jpeg()) == FetchClass.DECODER_CRASHED
        decoder.close()

    def test_a_child_that_hangs_is_ended(self) -> None:
        decoder = playing("time.sleep(60)")
        decoder._wall_seconds = 1.0
        assert class_of(decoder, jpeg()) == FetchClass.DECODER_CRASHED
        assert decoder._child is None

    def test_the_next_image_gets_a_new_child(self) -> None:
        decoder = Decoder()
        decoder.decode(jpeg(1))
        assert decoder._child is not None
        first = decoder._child.pid
        os.kill(first, signal.SIGKILL)
        assert class_of(decoder, jpeg(2)) == FetchClass.DECODER_CRASHED
        assert decoder.decode(jpeg(2)).width == 40
        assert decoder._child.pid != first
        decoder.close()

    def test_the_child_sees_no_settings(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setenv("DATABASE_URL", "postgresql://user:secret@host/name")
        decoder = playing("t = repr(sorted(os.environ)).encode(); return d.REPLY.pack(True, 1, 1, len(t)) + t")
        names = decoder.decode(b"").thumbnail.decode()
        decoder.close()
        assert "PYTHONPATH" in names
        assert "DATABASE_URL" not in names

    def test_the_child_ends_with_its_parent(self) -> None:
        decoder = Decoder()
        decoder.decode(jpeg())
        assert decoder.close() == 0

    def test_the_child_loads_nothing_heavy(self) -> None:
        decoder = playing("t = repr([n for n in sys.modules]).encode(); return d.REPLY.pack(True, 1, 1, len(t)) + t")
        modules = decoder.decode(b"").thumbnail.decode()
        decoder.close()
        assert "'PIL.Image'" in modules
        assert not any(f"'{name}'" in modules for name in ("torch", "sqlalchemy", "celery", "aiohttp"))


class TestLimits:
    def test_the_largest_picture_that_is_let_through_fits(self, real: Decoder) -> None:
        """With transparency it takes the most memory."""
        data = saved(Image.new("LA", (10_000, 5_000)), "PNG", compress_level=1)
        assert real.decode(data).width == 10_000
        assert child.MEMORY_BYTES < 2**32
