"""How a run names an object detector: by the path of its ONNX file. The names of its labels lie beside it."""

from pathlib import PurePosixPath

from model.options.base import ConfigError

NO_DETECTOR = ""
MAX_CHARACTERS = 1_000


def check_detector_path(path: str) -> None:
    """Whether the file exists and can be used is not looked at: it lies on the worker's machine."""
    if len(path) > MAX_CHARACTERS or not path.isprintable():
        raise ConfigError("detector", f"must be at most {MAX_CHARACTERS} characters without control characters")
    named = PurePosixPath(path)
    if not named.is_absolute() or named.suffix != ".onnx":
        raise ConfigError("detector", "must be the whole path of an ONNX file, e.g. /models/street.onnx")


def labels_path(detector: str) -> str:
    """/models/street.onnx has its names in /models/street.labels.txt."""
    return str(PurePosixPath(detector).with_suffix(".labels.txt"))
