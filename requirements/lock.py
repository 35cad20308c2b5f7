"""Writes requirements/lock.txt: one exact version of every package that any extra needs.

`make lock` runs it. It resolves as pip would for an empty environment, and installs nothing.
"""

import json
import subprocess
import sys
import tempfile
from pathlib import Path

FOLDER = Path(__file__).parent
EXTRAS = "worker,embedded,dev"
HEAD = """\
# Exact versions of everything that any extra needs, as constraints:
#     pip install -c requirements/lock.txt -e ".[worker,embedded,dev]"
# Written by `make lock`; do not edit by hand.
"""
# Wanted by redis below Python 3.11.3 only, and so not found when the resolving Python is newer.
OLDER_PYTHON = {"async-timeout": "5.0.1"}
# They come or do not come with the build of torch that the machine uses.
WITH_TORCH = ("nvidia-", "cuda-", "triton")


def resolve() -> dict[str, str]:
    """Package names and versions, as pip chooses them."""
    with tempfile.TemporaryDirectory() as folder:
        report = Path(folder) / "report.json"
        options = ["--dry-run", "--ignore-installed", "-qq", "--report", str(report)]
        command = [sys.executable, "-m", "pip", "install", *options, "-e", f"{FOLDER.parent}[{EXTRAS}]"]
        subprocess.run(command, check=True)
        chosen = [item["metadata"] for item in json.loads(report.read_text())["install"]]
    return {item["name"].lower().replace("_", "-"): item["version"] for item in chosen}


def main() -> None:
    versions = OLDER_PYTHON | resolve()
    lines = [
        # Without the local tag (+cpu), so that the same line fits every build of torch.
        f"{name}=={version.split('+')[0]}\n"
        for name, version in sorted(versions.items())
        if name != "pairsift" and not name.startswith(WITH_TORCH)
    ]
    (FOLDER / "lock.txt").write_text(HEAD + "".join(lines))


if __name__ == "__main__":
    main()
