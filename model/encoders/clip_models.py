"""`<architecture>:<tag or file>` -> what open_clip needs to load it, or an EncoderError that says what would do."""

from dataclasses import dataclass
from difflib import get_close_matches
from pathlib import Path
from typing import Any

from model.encoders.base import EncoderError
from model.encoders.prepare import Preparation
from model.encoders.torchvision_shim import make_torchvision_importable

# Read without unpickling: as safetensors, or by torch with weights_only.
SUFFIXES = (".safetensors", ".pt", ".pth", ".bin")


@dataclass(frozen=True)
class ClipModel:
    architecture: str
    config: dict[str, Any]  # open_clip's own, as it comes with the package
    file: Path
    preparation: Preparation
    mean: tuple[float, float, float]
    std: tuple[float, float, float]


def open_clip_package() -> Any:
    make_torchvision_importable()
    import open_clip

    return open_clip


def check_model(architecture: str, weights: str) -> None:
    """EncoderError where find_model would have nothing to load; nothing is downloaded."""
    package = open_clip_package()
    if architecture not in package.list_models():
        raise EncoderError(
            f"open_clip has no architecture {architecture!r}.{_like(architecture, package.list_models())}"
        )
    if not package.get_pretrained_cfg(architecture, weights):
        _local_file(architecture, weights)


def find_model(architecture: str, weights: str) -> ClipModel:
    """With a file that is there: weights named by a tag are downloaded unless they were before."""
    check_model(architecture, weights)
    package = open_clip_package()
    config = package.get_model_config(architecture)
    published = package.get_pretrained_cfg(architecture, weights)
    file = _download(architecture, weights, config) if published else _local_file(architecture, weights)
    recipe = package.transform.merge_preprocess_dict(
        package.transform.PreprocessCfg(), published or _agreed_preprocessing(architecture)
    )
    preparation = Preparation(
        size=config["vision_cfg"]["image_size"],
        is_cropped=recipe["resize_mode"] == "shortest",
        filter=recipe["interpolation"],
    )
    return ClipModel(architecture, config, file, preparation, tuple(recipe["mean"]), tuple(recipe["std"]))


def local_file_hint(architecture: str) -> str:
    return f"To use a file of your own, name it: open_clip:{architecture}:/path/to/weights.safetensors"


def _download(architecture: str, tag: str, config: dict[str, Any]) -> Path:
    package = open_clip_package()
    published = package.get_pretrained_cfg(architecture, tag)
    if published.get("quick_gelu", False) != config.get("quick_gelu", False):
        other = f"{architecture}-quickgelu"
        hint = f" Write open_clip:{other}:{tag}" if other in package.list_models() else ""
        raise EncoderError(f"The weights {tag!r} were trained with another activation than {architecture} has.{hint}")
    try:
        return Path(package.download_pretrained(published))
    except Exception as error:  # whatever the network, the hub's library or its cache can raise
        raise EncoderError(
            f"The weights {tag!r} of {architecture} could not be downloaded: {error}\n"
            f"Get the file where there is a connection. {local_file_hint(architecture)}"
        ) from error


def _local_file(architecture: str, weights: str) -> Path:
    file = Path(weights)
    if file.suffix not in SUFFIXES and "/" not in weights:
        tags = open_clip_package().list_pretrained_tags_by_model(architecture)
        raise EncoderError(
            f"open_clip knows no weights {weights!r} of {architecture}.{_like(weights, tags)}"
            f" {local_file_hint(architecture)}"
        )
    if file.suffix not in SUFFIXES:
        raise EncoderError(f"The weights must be a file ending in {', '.join(SUFFIXES)}, not {file.name!r}.")
    if not file.is_file():
        raise EncoderError(f"There is no file {str(file)!r} with weights. {local_file_hint(architecture)}")
    return file


def _agreed_preprocessing(architecture: str) -> dict[str, Any]:
    """A file does not say how its images were prepared: as for the published weights, where those all agree."""
    package = open_clip_package()
    tags = package.list_pretrained_tags_by_model(architecture)
    recipes = [package.get_pretrained_cfg(architecture, tag) for tag in tags]
    parts = ("mean", "std", "interpolation", "resize_mode")
    kinds = {tuple(recipe.get(part) for part in parts) for recipe in recipes}
    return dict(zip(parts, kinds.pop(), strict=True)) if len(kinds) == 1 else {}


def _like(word: str, choices: list[str]) -> str:
    """The likeliest, whatever the case; all of them where there are few."""
    lower = {choice.lower(): choice for choice in choices}
    close = [lower[match] for match in get_close_matches(word.lower(), lower, n=5, cutoff=0.5)]
    if not close and len(choices) <= 12:
        close = choices
    return f" Did you mean: {', '.join(close)}?" if close else ""
