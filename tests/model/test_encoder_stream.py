"""Files through reader processes to vectors: nothing is lost, order is kept, and a process may die."""

import io
import json
import os
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from dataclasses import asdict

import billiard
import numpy as np
import psutil
import pytest
from PIL import Image

from model.encoders import reader
from model.encoders import readers as readers_module
from model.encoders.images import ImageError, OpenedImage, open_image
from model.encoders.prepare import Preparation
from model.encoders.readers import ImageReaders
from model.encoders.stream import EncodedBatch, encode_all

SMALL = Preparation(8, is_cropped=False)


def encoded(picture: Image.Image, kind: str = "PNG") -> bytes:
    file = io.BytesIO()
    picture.save(file, kind)
    return file.getvalue()


PICTURES = {f"{i}.png": Image.new("RGB", (20 + i, 10), (i, 0, 0)) for i in range(10)}
FILES = {name: encoded(picture) for name, picture in PICTURES.items()}
BAD = {"half.png": FILES["1.png"][:50], "page.html": b"<html>"}


@pytest.fixture(scope="module")
def readers() -> Iterator[ImageReaders]:
    with ImageReaders(SMALL, 2) as readers:
        yield readers


def reds(pictures: list[Image.Image] | tuple[Image.Image, ...]) -> np.ndarray:
    """A network in its smallest form: the mean red of each picture."""
    return np.array([[np.asarray(picture)[:, :, 0].mean()] for picture in pictures], np.float32).reshape(-1, 1)


def opened(readers: ImageReaders, read: Callable[[], bytes]) -> OpenedImage:
    result = readers.submit(read).result()
    assert isinstance(result, OpenedImage)
    return result


def process_of(read: ImageReaders) -> psutil.Process:
    (process,) = (child for child in psutil.Process().children() if child.pid in {r._process.pid for r in read._all})
    return process


class TestEncodeAll:
    @pytest.mark.parametrize("batch", [1, 3, 64])
    def test_every_item_is_a_vector_or_a_failure(self, readers: ImageReaders, batch: int) -> None:
        files = dict(sorted((FILES | BAD).items()))
        batches: list[EncodedBatch[str]] = list(encode_all(reds, files, files.__getitem__, readers, batch))
        assert [name for part in batches for name in part.items] == sorted(FILES)
        assert [size for part in batches for size in part.sizes] == [picture.size for picture in PICTURES.values()]
        assert np.concatenate([part.vectors for part in batches])[:, 0].tolist() == list(range(10))
        failures = {name: error.reason for part in batches for name, error in part.failures}
        assert failures == {"half.png": "truncated", "page.html": "not_an_image"}

    def test_a_file_that_cannot_be_read_is_a_failure_with_its_reason(self, readers: ImageReaders) -> None:
        def gone(_: str) -> bytes:
            raise ImageError("truncated", "The file has changed.")

        (only,) = encode_all(reds, ["a"], gone, readers)
        assert only.vectors.shape == (0, 1)
        assert [(name, str(error)) for name, error in only.failures] == [("a", "The file has changed.")]

    def test_an_error_that_is_not_about_the_image_is_raised(self, readers: ImageReaders) -> None:
        def broken(_: str) -> bytes:
            raise PermissionError("no access to the folder")

        with pytest.raises(PermissionError, match="no access"):
            list(encode_all(reds, ["a", "b"], broken, readers))

    def test_no_more_than_two_batches_are_in_memory(self, readers: ImageReaders) -> None:
        taken = []

        def items() -> Iterator[str]:
            for name in FILES:
                taken.append(name)
                yield name

        next(encode_all(reds, items(), FILES.__getitem__, readers, batch=2))
        assert len(taken) == 4


class TestImageReaders:
    def test_picture_is_the_one_prepared_here(self, readers: ImageReaders) -> None:
        pixels = np.random.default_rng(0).integers(0, 256, (60, 90, 3), np.uint8)
        data = encoded(Image.fromarray(pixels), "JPEG")
        result = opened(readers, lambda: data)
        assert (result.width, result.height) == (90, 60)
        assert result.image.tobytes() == SMALL.apply(open_image(data, SMALL.enough).image).tobytes()

    def test_a_file_larger_than_the_pipe_arrives_whole(self, readers: ImageReaders) -> None:
        pixels = np.random.default_rng(0).integers(0, 256, (700, 900, 3), np.uint8)
        data = encoded(Image.fromarray(pixels))
        assert len(data) > 2**20
        assert opened(readers, lambda: data).image.tobytes() == SMALL.apply(Image.fromarray(pixels)).tobytes()

    def test_a_process_that_was_killed_is_replaced_and_its_image_is_not_blamed(self) -> None:
        with ImageReaders(SMALL, 1) as readers:
            opened(readers, lambda: FILES["0.png"])
            first = process_of(readers)

            def kill_and_read() -> bytes:
                first.kill()
                return FILES["1.png"]

            assert opened(readers, kill_and_read).width == 21
            assert process_of(readers).pid != first.pid

    def test_an_image_that_ends_its_process_each_time_is_a_failure_and_the_next_is_read(
        self, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(readers_module, "TRIES", 1)
        with ImageReaders(SMALL, 1) as readers:
            opened(readers, lambda: FILES["0.png"])

            def kill_and_read() -> bytes:
                process_of(readers).kill()
                return FILES["1.png"]

            failure = readers.submit(kill_and_read).result()
            assert isinstance(failure, ImageError)
            assert (failure.reason, str(failure)) == (
                "truncated",
                "Decoding the image ended the process that did it (exit code -9).",
            )
            assert opened(readers, lambda: FILES["3.png"]).width == 23

    def test_a_process_that_does_not_start_is_no_fault_of_the_image(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(sys, "executable", "/bin/false")
        with ImageReaders(SMALL, 1) as readers, pytest.raises(RuntimeError, match=r"did not start \(exit code 1\)"):
            readers.submit(lambda: FILES["0.png"]).result()

    def test_a_request_to_stop_is_left_to_the_process_that_asks(self) -> None:
        with ImageReaders(SMALL, 1) as readers:
            opened(readers, lambda: FILES["0.png"])
            process = process_of(readers)
            process.terminate()
            process.send_signal(signal.SIGINT)
            assert opened(readers, lambda: FILES["1.png"]).width == 21
            assert process_of(readers).pid == process.pid

    def test_leaving_ends_the_processes(self) -> None:
        with ImageReaders(SMALL, 1) as readers:
            opened(readers, lambda: FILES["0.png"])
            process = process_of(readers)
        assert not process.is_running()

    def test_without_images_nothing_is_started(self) -> None:
        with ImageReaders(SMALL, 1) as readers:
            assert readers._all == []

    def test_works_in_a_daemonic_process_as_those_of_celery_are(self) -> None:
        parent, child = os.pipe()

        def inside() -> None:
            with ImageReaders(SMALL, 1) as readers:
                os.write(child, b"%d" % opened(readers, lambda: FILES["5.png"]).width)

        process = billiard.get_context("fork").Process(target=inside, daemon=True)
        process.start()
        os.close(child)
        with os.fdopen(parent, "rb") as answer:
            assert answer.read() == b"25"
        process.join()


class TestMain:
    def test_ends_with_its_input_and_says_nothing(self) -> None:
        done = subprocess.run(
            [sys.executable, "-m", "model.encoders.reader", json.dumps(asdict(SMALL))],
            input=reader.REQUEST.pack(len(FILES["0.png"])) + FILES["0.png"],
            capture_output=True,
            check=True,
        )
        assert len(done.stdout) == len(reader.READY) + reader.ANSWER.size + 8 * 8 * 3
        assert done.stderr == b""


class TestPreparation:
    """Against a picture whose colours tell the place: red grows to the right, green downwards."""

    @staticmethod
    def ramp(width: int, height: int) -> Image.Image:
        x, y = np.meshgrid(np.linspace(0, 255, width), np.linspace(0, 255, height))
        return Image.fromarray(np.stack([x, y, 0 * x], 2).astype(np.uint8))

    def test_squashed_keeps_the_whole_picture(self) -> None:
        pixels = np.asarray(Preparation(32, is_cropped=False).apply(self.ramp(300, 100)))
        assert pixels.shape == (32, 32, 3)
        assert pixels[:, 0, 0].max() < 10
        assert pixels[:, -1, 0].min() > 245

    @pytest.mark.parametrize(("size", "channel"), [((300, 100), 0), ((100, 300), 1)])
    def test_cropped_keeps_the_middle(self, size: tuple[int, int], channel: int) -> None:
        pixels = np.asarray(Preparation(32, is_cropped=True).apply(self.ramp(*size)))[:, :, channel]
        assert pixels.shape == (32, 32)
        assert abs(int(pixels.min()) - 85) < 5
        assert abs(int(pixels.max()) - 170) < 5

    @pytest.mark.parametrize("size", [(1, 20_000), (20_000, 2), (1, 1)])
    def test_a_line_becomes_a_square_too(self, size: tuple[int, int]) -> None:
        assert Preparation(32, is_cropped=True).apply(Image.new("RGB", size)).size == (32, 32)

    def test_twice_changes_nothing(self) -> None:
        once = SMALL.apply(self.ramp(50, 40))
        assert SMALL.apply(once) is once
