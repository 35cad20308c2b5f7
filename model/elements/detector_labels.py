"""The names of a detector's labels: one on each line of a text file, that of label 0 on the first."""

from pathlib import Path

from model.elements.detector import DetectorError

MOST_LABELS = 10_000  # every image keeps a score for each
LONGEST_NAME = 100
MOST_BYTES = 4 * MOST_LABELS * (LONGEST_NAME + 1)  # a character takes at most four


def read_labels(path: Path) -> tuple[str, ...]:
    """A line may be empty: that label has no name, and what it finds is not told."""
    try:
        with path.open("rb") as file:
            text = file.read(MOST_BYTES + 1).decode("utf-8-sig")
    except OSError as error:
        raise DetectorError(f"{path}: {error.strerror}") from error
    except UnicodeDecodeError as error:
        raise DetectorError(f"{path} is no text in UTF-8") from error
    names = tuple(line.strip() for line in text.rstrip().split("\n"))
    if not any(names):
        raise DetectorError(f"{path} is empty; write the name of a label on each line, that of label 0 first")
    if len(names) > MOST_LABELS:
        raise DetectorError(f"{path} has more than {MOST_LABELS:,} lines")
    for number, name in enumerate(names, start=1):
        if len(name) > LONGEST_NAME or not name.isprintable():
            raise DetectorError(
                f"{path}, line {number}: a name has at most {LONGEST_NAME} characters, and no control characters"
            )
    return names
