"""How one row of features lies in a file: as numbers of a float type, or as int8 with a scale for each vector."""

from typing import Any, Literal, get_args

import numpy as np
from numpy.typing import NDArray

Dtype = Literal["float16", "float32", "int8"]
MAX_DIMENSIONS = 4
_LARGEST = 127  # -128 is not used: a vector and its negative are stored alike

Raw = NDArray[np.uint8]  # (n, bytes of a row)
Vectors = NDArray[np.float32]  # (n, D) or (n, R, D)


class RowForm:
    """Shape and type of every row of a store. In int8 each vector (the last axis) has a scale of its own."""

    def __init__(self, shape: int | tuple[int, ...], dtype: Dtype) -> None:
        self.shape = (shape,) if isinstance(shape, int) else tuple(shape)
        if not 1 <= len(self.shape) <= MAX_DIMENSIONS or min(self.shape) < 1:
            raise ValueError(f"the shape of a row must be 1 to {MAX_DIMENSIONS} positive numbers, not {self.shape}")
        if dtype not in get_args(Dtype):
            raise ValueError(f"dtype must be one of {', '.join(get_args(Dtype))}, not {dtype}")
        self.dtype = dtype
        values = np.dtype((np.dtype(dtype).newbyteorder("<"), self.shape))
        scaled = [("scale", "<f4", self.shape[:-1]), ("values", values)]
        self._record = np.dtype(scaled) if dtype == "int8" else np.dtype([("values", values)])
        self.bytes = self._record.itemsize

    def __str__(self) -> str:
        return f"shape {self.shape} in {self.dtype}"

    def encode(self, vectors: NDArray[Any]) -> Raw:
        """ValueError where the type cannot hold them."""
        with np.errstate(over="ignore"):  # what overflows is refused below
            floats = vectors.astype(np.float32 if self.dtype == "int8" else self.dtype)
        if not np.isfinite(floats).all():
            raise ValueError(f"vectors are not finite in {self.dtype}")
        records = np.empty(len(vectors), self._record)
        if self.dtype == "int8":
            scale = np.abs(floats).max(axis=-1) / np.float32(_LARGEST)
            records["scale"] = scale
            divisor = np.where(scale > 0, scale, 1)[..., None]  # a vector of zeros has scale 0
            floats = np.rint(floats / divisor).clip(-_LARGEST, _LARGEST)
        records["values"] = floats
        return records.view(np.uint8).reshape(len(vectors), self.bytes)

    def decode(self, raw: Raw) -> Vectors:
        records = np.ascontiguousarray(raw).view(self._record).reshape(-1)
        vectors: Vectors = records["values"].astype(np.float32)
        if self.dtype == "int8":
            vectors *= records["scale"][..., None]
        return vectors
