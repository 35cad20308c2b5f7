"""The rows of a Parquet file that lies in an extent, as a stream of dicts in constant memory."""

from collections.abc import Iterator
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from model.data.folders.extent import Extent
from model.data.rows import FileError

BATCH_ROWS = 1_024
_BUFFER_BYTES = 1 << 20


class ParquetRows:
    def __init__(self, extent: Extent, name: str) -> None:
        self.name = name
        self._extent = extent
        with extent.open() as file, self._guarded():
            table = pq.ParquetFile(file)
            self.rows: int = table.metadata.num_rows
            # Bytes (images, thumbnails) are neither text nor metadata.
            self.names = [
                field.name
                for field in table.schema_arrow
                if not (pa.types.is_binary(field.type) or pa.types.is_large_binary(field.type))
            ]

    def __iter__(self) -> Iterator[dict[str, Any]]:
        """Text is str, or bytes where it is not UTF-8: one bad row must not end the file."""
        with self._extent.open() as file, self._guarded():
            # Buffered and not read ahead: a column of a row group may be larger than memory.
            table = pq.ParquetFile(file, buffer_size=_BUFFER_BYTES, pre_buffer=False)
            for batch in table.iter_batches(BATCH_ROWS, columns=self.names):
                columns = [_values(column) for column in batch.columns]
                for values in zip(*columns, strict=True):
                    yield dict(zip(batch.schema.names, values, strict=True))

    def _guarded(self) -> "_Guard":
        return _Guard(self.name)


class _Guard:
    def __init__(self, name: str) -> None:
        self._name = name

    def __enter__(self) -> None:
        return None

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, _: object) -> None:
        if isinstance(error, pa.ArrowException | UnicodeDecodeError) or (
            isinstance(error, OSError) and error.errno is None
        ):
            raise FileError(
                "parquet_corrupt", f"{self._name} is no readable Parquet file: {str(error)[:200]}"
            ) from None


def _values(column: Any) -> list[Any]:
    kind = column.type
    if pa.types.is_dictionary(kind):
        column, kind = column.dictionary_decode(), kind.value_type
    if pa.types.is_string(kind) or pa.types.is_large_string(kind):
        binary = pa.large_binary() if pa.types.is_large_string(kind) else pa.binary()
        return [_text(value) for value in column.cast(binary).to_pylist()]
    values: list[Any] = column.to_pylist()
    return values


def _text(value: bytes | None) -> str | bytes | None:
    try:
        return None if value is None else value.decode()
    except UnicodeDecodeError:
        return value
