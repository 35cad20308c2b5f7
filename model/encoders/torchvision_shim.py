"""Lets torchvision be imported beside a torch build that its compiled operators do not fit."""

from functools import cache
from importlib.util import find_spec
from pathlib import Path

import torch

# Kept for the life of the process: the declarations vanish with the object.
_declared: list[torch.library.Library] = []


@cache
def make_torchvision_importable() -> None:
    """transformers, open_clip and timm import torchvision, which fails at import when a schema is unknown.

    Only the schemas are declared; nothing here runs the operators, and calling one stays an error.
    """
    spec = find_spec("torchvision")
    if spec is None or spec.origin is None:
        return
    compiled = next(Path(spec.origin).parent.glob("_C.*"), None)
    try:
        if compiled is not None:
            torch.ops.load_library(compiled)  # type: ignore[no-untyped-call]
            return
    except OSError:
        pass  # built for another torch: declare what is missing
    library = torch.library.Library("torchvision", "DEF")  # type: ignore[no-untyped-call]
    for operator in ("nms", "qnms"):
        schema = f"{operator}(Tensor dets, Tensor scores, float iou_threshold) -> Tensor"
        library.define(schema)  # type: ignore[no-untyped-call]
    _declared.append(library)
