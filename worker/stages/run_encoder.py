"""Which encoder a run uses, and where its features will be."""

from pathlib import Path

from model.encoders.base import Encoder, EncoderError, load_encoder
from model.options.encoders import EncoderName, parse_encoder
from service.db.fit import DEFAULT_ENCODER, PRECOMPUTED, chosen_encoder
from worker.stages.context import StageContext, StageFailed
from worker.stages.run_features import UPLOADED, RunFeatures, SideFeatures
from worker.stages.source import allowed_path, open_collection_source


def choose_encoder(context: StageContext) -> tuple[Encoder | None, RunFeatures]:
    """The encoder for what has to be encoded; None where the upload brings the features of both sides. EncoderError
    where it cannot be had."""
    collection, config = context.collection(), context.run_config()
    name = chosen_encoder(collection, config)
    if name == PRECOMPUTED:
        if open_collection_source(context).features().captions is not None:
            return None, RunFeatures(UPLOADED, UPLOADED)
        encoder = _load(context, DEFAULT_ENCODER)  # captions come as text; images were encoded elsewhere
        return encoder, RunFeatures(UPLOADED, SideFeatures(encoder.identity, (encoder.caption_width,)))
    encoder = _load(context, name)
    captions = SideFeatures(encoder.identity, (encoder.caption_width,))
    if not config.regions:
        return encoder, RunFeatures(SideFeatures(encoder.identity, (encoder.image_width,)), captions)
    if encoder.regions is None:
        raise StageFailed("no_regions", "The encoder gives no regions", f"{name} has none; leave regions out.")
    # Many times as large as one vector: a byte a number keeps them on disk.
    return encoder, RunFeatures(SideFeatures(encoder.identity, encoder.regions, "int8"), captions)


def check_encoder(context: StageContext) -> None:
    """Whether there is such an encoder, before days go into fetching images for it. Nothing is downloaded yet."""
    name = parse_encoder(chosen_encoder(context.collection(), context.run_config()))
    if name.kind != "open_clip":
        return
    _check_path(context, name)
    from model.encoders.clip_models import check_model  # takes seconds, and most runs do without

    try:
        check_model(name.architecture, name.weights)
    except EncoderError as error:
        raise unusable(error) from error


def unusable(error: EncoderError) -> StageFailed:
    return StageFailed("encoder_unusable", "The encoder cannot be used", str(error))


def _load(context: StageContext, name: str) -> Encoder:
    _check_path(context, parse_encoder(name))
    return load_encoder(name, context.settings.threads)


def _check_path(context: StageContext, name: EncoderName) -> None:
    weights = Path(name.weights)
    if weights.is_absolute() or (name.weights and weights.is_file()):
        allowed_path(context, weights)
