"""Any file or folder of pairs as a Source: which reader it needs is seen in its content."""

from pathlib import Path

from model.data.rows import FileError
from model.data.source import ReadOptions, Source
from model.data.tables import READERS, open_table
from model.options.formats import FORMATS as FORMATS

_ONLY_OF = {"split": "precomp", "noise_index": "precomp", "features": "datacomp"}


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
        return _checked(open_folder(path, options, scratch), options)
    if name is not None and name not in READERS:
        raise FileError(
            "wrong_format", f"input_format {name!r} needs a folder, a tar or a zip, and {path.name!r} is none of them."
        )
    return _checked(open_table(path, options), options)


def _checked(source: Source, options: ReadOptions) -> Source:
    """An option that nothing will ever look at is a mistake: who names a noise index counts on its truth."""
    for name, format in _ONLY_OF.items():
        if getattr(options, name) is not None and source.format != format:
            raise FileError(
                "option_does_not_apply", f"{name} is for the format {format}; this is {source.format}. Leave it out."
            )
    if source.format == "precomp" and {options.url_column, options.caption_column, options.label_column} != {None}:
        raise FileError("option_does_not_apply", "A precomp folder has no columns to choose. Leave them out.")
    return source
