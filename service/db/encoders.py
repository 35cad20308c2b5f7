"""Whether a run's encoder fits what the collection brings: asked when a run is started, and again by the worker,
because a run may be started before its file is read."""

from model.config import AUTO_ENCODER, RunConfig
from service.db.tables import Collection

CODE, TITLE = "encoder_does_not_fit", "The encoder does not fit the collection"
PRECOMPUTED, DEFAULT = "precomputed", "lite"


def brings_features(collection: Collection) -> bool:
    """Whether the upload holds features instead of images; known once it is read."""
    return (collection.format or {}).get("images") == "features"


def chosen_encoder(collection: Collection, config: RunConfig) -> str:
    """What `auto` stands for here."""
    if config.encoder != AUTO_ENCODER:
        return config.encoder
    return PRECOMPUTED if brings_features(collection) else DEFAULT


def why_encoder_does_not_fit(collection: Collection, config: RunConfig) -> str | None:
    is_precomputed = chosen_encoder(collection, config) == PRECOMPUTED
    if is_precomputed and not brings_features(collection):
        return "The collection brings no features of its own; choose encoder=auto, lite or open_clip:ARCH:WEIGHTS."
    if brings_features(collection) and not is_precomputed:
        return f"The collection brings features and no images; leave the encoder {config.encoder} out."
    return None
