"""Where the features of a run are: in stores by content hash, or in the upload itself. The encode stage writes it down,
so that later stages need not load an encoder."""

import json
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Literal

from model.features.store import FeatureStore
from model.pairs import Placed
from service.storage import written_whole
from worker.stages.context import StageContext
from worker.stages.frozen import Frozen
from worker.stages.source import open_collection_source

FEATURES_FILE = "features.json"

SideName = Literal["images", "captions"]


@dataclass(frozen=True)
class SideFeatures:
    encoder: str | None  # whose they are; None where they came with the upload
    shape: tuple[int, ...] = ()
    dtype: Literal["float16", "int8"] = "float16"


UPLOADED = SideFeatures(None)


@dataclass(frozen=True)
class RunFeatures:
    images: SideFeatures
    captions: SideFeatures

    def save(self, folder: Path) -> None:
        with written_whole(folder / FEATURES_FILE) as file:
            file.write(json.dumps(asdict(self)).encode())

    @classmethod
    def load(cls, folder: Path) -> "RunFeatures":
        sides = json.loads((folder / FEATURES_FILE).read_bytes())
        return cls(**{name: SideFeatures(**side | {"shape": tuple(side["shape"])}) for name, side in sides.items()})


def open_store(context: StageContext, name: SideName, side: SideFeatures) -> FeatureStore:
    if side.encoder is None:
        raise ValueError(f"the {name} of this run came with the upload and are in no store")
    storage, shared = context.storage, context.settings.features_url
    if not shared:
        return FeatureStore(storage.features(side.encoder, name), side.shape, side.dtype)
    location = f"{shared.rstrip('/')}/{side.encoder}/{name}"
    return FeatureStore(location, side.shape, side.dtype, cache=storage.feature_cache(side.encoder, name))


def open_features(context: StageContext, frozen: Frozen) -> tuple[Any, Any]:
    """Images and captions of the frozen pairs, each as something that is indexed by their numbers."""
    features = RunFeatures.load(context.storage.run(context.run_id))
    return (
        _open(context, "images", features.images, frozen),
        _open(context, "captions", features.captions, frozen),
    )


def _open(context: StageContext, name: SideName, side: SideFeatures, frozen: Frozen) -> Any:
    if side.encoder is not None:
        keys = frozen.image_keys if name == "images" else frozen.caption_keys
        return open_store(context, name, side).view(keys)
    if frozen.places is None:
        raise ValueError(f"the {name} of this run came with the upload, but its pairs do not say where they lie")
    return Placed(getattr(open_collection_source(context).features(), name), frozen.places)
