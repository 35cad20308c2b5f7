"""What is where in a table: found by `model.data.columns`, kept with the collection, needed again to export it."""

from dataclasses import asdict, dataclass, fields
from typing import Any

from model.data.lines import Compression


@dataclass(frozen=True)
class TableFormat:
    """What is where in a table; columns are counted from 0."""

    columns: int
    url_column: int
    caption_column: int
    has_header: bool = False  # the first line names the columns
    header: tuple[str, ...] | None = None  # the names, wherever they came from
    compression: Compression = None
    label_column: int | None = None
    is_label_list: bool = False  # labels with commas between them: the first counts
    delimiter: str = "\t"

    def __post_init__(self) -> None:
        if not (0 <= self.url_column < self.columns and 0 <= self.caption_column < self.columns):
            raise ValueError(f"url and caption must be among the {self.columns} columns, counted from 0")
        if self.url_column == self.caption_column:
            raise ValueError(f"url and caption cannot both be column {self.url_column}")
        if self.label_column is not None and (
            not 0 <= self.label_column < self.columns or self.label_column in (self.url_column, self.caption_column)
        ):
            raise ValueError(f"column {self.label_column} cannot be the label")

    @property
    def others(self) -> list[int]:
        """The columns that are neither URL nor caption."""
        return [i for i in range(self.columns) if i not in (self.url_column, self.caption_column)]

    @property
    def other_names(self) -> list[str]:
        """The keys of a pair's `extra`, in the order of the columns; made different where two are the same."""
        names: list[str] = []
        for column in self.others:
            name = f"column_{column}" if self.header is None else self.header[column]
            names.append(f"{name}_{column}" if name in names else name)
        return names

    def name(self, column: int) -> str:
        return f"column {column}" if self.header is None else f"column {column} ({self.header[column][:40]})"

    def to_dict(self) -> dict[str, Any]:
        return asdict(self) | {"header": None if self.header is None else list(self.header)}

    @classmethod
    def from_dict(cls, values: dict[str, Any]) -> "TableFormat":
        """Of `to_dict`, or of what a source describes: what else stands there is left aside."""
        known = {field.name: values[field.name] for field in fields(cls) if field.name in values}
        header = values.get("header")
        return cls(**known | {"header": None if header is None else tuple(header)})
