"""Whether a collection has what a run needs: asked when a run is started, and again when its first stage begins,
because a run may be started while the file is still being read."""

from dataclasses import dataclass

from model.config import AUTO_ENCODER, RunConfig
from service.db.tables import Collection

PRECOMPUTED, DEFAULT_ENCODER = "precomputed", "lite"


@dataclass(frozen=True)
class Misfit:
    code: str
    title: str
    detail: str  # a sentence for the user


def misfit(collection: Collection, config: RunConfig, *, learns: bool = True) -> Misfit | None:
    """What is missing, or None where nothing is. A run that does not learn but judges by another needs no labels."""
    if learns and (why := _why_labels_are_missing(collection, config)):
        return Misfit("labels_missing", "The method needs labels", why)
    if why := _why_encoder_does_not_fit(collection, config):
        return Misfit("encoder_does_not_fit", "The encoder does not fit the collection", why)
    if why := _why_detector_does_not_fit(collection, config):
        return Misfit("detector_does_not_fit", "The detector does not fit the collection", why)
    return None


def brings_features(collection: Collection) -> bool:
    """Whether the upload holds features instead of images; known once it is read."""
    return (collection.format or {}).get("images") == "features"


def chosen_encoder(collection: Collection, config: RunConfig) -> str:
    """What `auto` stands for here."""
    if config.encoder != AUTO_ENCODER:
        return config.encoder
    return PRECOMPUTED if brings_features(collection) else DEFAULT_ENCODER


def _why_labels_are_missing(collection: Collection, config: RunConfig) -> str | None:
    if not config.method_options.needs_labels or collection.labelled == collection.accepted:
        return None
    lacking = f"{collection.accepted - collection.labelled:,} of its {collection.accepted:,} pairs have no label"
    what = lacking if collection.labelled else "the collection has no label column"
    return (
        f"The method {config.method} learns from a label of every pair, but {what}. Upload a file with one (a column "
        "named label, category or class), or set method_options.clusters to make that many pseudo-categories from the "
        "captions."
    )


def _why_encoder_does_not_fit(collection: Collection, config: RunConfig) -> str | None:
    is_precomputed = chosen_encoder(collection, config) == PRECOMPUTED
    if is_precomputed and not brings_features(collection):
        return "The collection brings no features of its own; choose encoder=auto, lite or open_clip:ARCH:WEIGHTS."
    if brings_features(collection) and not is_precomputed:
        return f"The collection brings features and no images; leave the encoder {config.encoder} out."
    if brings_features(collection) and config.regions:
        return "The collection brings features as they are; leave regions out."
    return None


def _why_detector_does_not_fit(collection: Collection, config: RunConfig) -> str | None:
    if not config.detector or not brings_features(collection):
        return None
    return (
        "detector: the collection brings features and no images to look at; leave the detector out, or make a "
        "collection of the images themselves."
    )
