"""Any file or folder of pairs as a Source: which reader it needs is seen in its content."""

from pathlib import Path

from model.data.rows import FileError
from model.data.source import ReadOptions, Source
from model.data.tables import READERS, open_table
from model.options.formats import FORMATS as FORMATS


def open_source(path: Path, options: ReadOptions, scratch: Path | None = None) -> Source:
    """FileError where nothing can be read; `scratch` is a folder in which archives may be unpacked, once."""
    from model.data.folders.detect import is_archive, open_folder  # it opens tables, so this module comes first

    name = options.input_format
    if name is not None and name not in FORMATS:
        raise FileError("unknown_format", f"input_format {name!r} is unknown. Choose one of {', '.join(FORMATS)}.")
    if not path.exists():
        raise FileError("no_such_file", f"There is no file or folder {path.name!r}.")
    if not path.is_dir() and not path.is_file():
        raise FileError("not_a_file", f"{path.name!r} is neither a file nor a folder.")  # a device may have no end
    if path.is_dir() or is_archive(path):
        return open_folder(path, options, scratch)
    if name is not None and name not in READERS:
        raise FileError(
            "wrong_format", f"input_format {name!r} needs a folder, a tar or a zip, and {path.name!r} is none of them."
        )
    return open_table(path, options)
