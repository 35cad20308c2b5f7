"""The object detector that a run names, opened where it lies."""

from pathlib import Path

from model.elements.detector import Detector, DetectorError
from model.elements.detector_labels import read_labels
from model.options.detectors import NO_DETECTOR, labels_path
from worker.stages.context import StageContext, StageFailed
from worker.stages.source import is_allowed


def open_detector(context: StageContext) -> Detector | None:
    """None where the run names none, StageFailed where it cannot be used."""
    name = context.run_config().detector
    if name == NO_DETECTOR:
        return None
    network = _file(context, name, "an ONNX file of a detector")
    labels = _file(context, labels_path(name), "the names of its labels, one on each line")
    try:
        return Detector.load(network, read_labels(labels), context.settings.threads)
    except DetectorError as error:
        raise unusable(str(error)) from error


def check_detector(context: StageContext) -> None:
    """Whether it can be used, before days go into fetching images for it."""
    open_detector(context)


def unusable(why: str) -> StageFailed:
    return StageFailed("detector_unusable", "The detector cannot be used", f"detector: {why}")


def _file(context: StageContext, name: str, what: str) -> Path:
    path = Path(name)
    try:
        real = path.resolve()
        if not is_allowed(context, real):
            detail = f"detector: {path} is not below a folder in PAIRSIFT_IMAGE_ROOTS on the worker; move it there."
            raise StageFailed("blocked_path", "The path may not be read", detail)
        if not real.is_file():
            detail = f"detector: the worker finds no file {path}; there should be {what}."
            raise StageFailed("no_such_path", "There is no such file", detail)
    except (OSError, RuntimeError) as error:  # it may not be looked at; links lead round in a circle
        raise unusable(f"{path} cannot be read: {error}") from error
    return real
