"""`pairsift serve` and `pairsift demo` with embedded servers of their own."""

import contextlib
import json
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import httpx2 as httpx
import psutil
import pytest

from cli.stack import temporary_data_folder
from service.config import Settings, child_environment
from service.embedded import embedded_servers
from tests.conftest import ROOT
from tests.service.serving import eventually


@pytest.fixture
def environment() -> Iterator[dict[str, str]]:
    """Nothing configured but the data folder."""
    with temporary_data_folder() as folder:
        environment = child_environment(Settings(data=folder, threads=1))
        yield {name: value for name, value in environment.items() if name not in ("DATABASE_URL", "BROKER_URL")}


def pairsift(environment: dict[str, str], *arguments: str) -> "subprocess.Popen[str]":
    command = [sys.executable, "-m", "cli.main", *arguments]
    return subprocess.Popen(
        command, env=environment, cwd=ROOT, text=True, stdout=subprocess.PIPE, stderr=subprocess.PIPE
    )


def read_json(process: "subprocess.Popen[str]") -> dict[str, str]:
    """The first JSON object that the process prints."""
    assert process.stdout is not None
    text = ""
    while not text.rstrip().endswith("}"):
        line = process.stdout.readline()
        assert line, process.stderr and process.stderr.read()
        text += line
    return dict(json.loads(text))


def servers_of(folder: Path) -> list[psutil.Process]:
    """The processes that work in this data folder."""
    found = []
    for process in psutil.process_iter():
        with contextlib.suppress(psutil.Error):
            if process.status() != psutil.STATUS_ZOMBIE and Path(process.cwd()).is_relative_to(folder):
                found.append(process)
    return found


def pythons_below(process: "subprocess.Popen[str]") -> list[psutil.Process]:
    found = []
    for child in psutil.Process(process.pid).children(recursive=True):
        with contextlib.suppress(psutil.NoSuchProcess):
            if "python" in child.name():
                found.append(child)
    return found


class TestServe:
    def test_runs_until_it_is_told_to_stop_and_leaves_nothing_behind(self, environment: dict[str, str]) -> None:
        serve = pairsift(environment, "serve", "--port", "0", "--json")
        told = read_json(serve)
        me = psutil.Process(serve.pid)
        family = me.children(recursive=True)
        assert httpx.get(f"{told['url']}/readyz").json()["broker"] == "up"
        headers = {"Authorization": f"Bearer {told['key']}"}
        assert httpx.get(f"{told['url']}/v1/collections", headers=headers).json() == {"items": [], "next": None}
        found = json.loads((Path(environment["PAIRSIFT_DATA"]) / "service.json").read_text())
        assert found == {"url": told["url"], "key": told["key"]}
        assert (Path(environment["PAIRSIFT_DATA"]) / "key").stat().st_mode & 0o077 == 0
        serve.send_signal(signal.SIGINT)
        _, said = serve.communicate(timeout=120)
        assert serve.returncode == 0, said
        assert psutil.wait_procs(family, timeout=30)[1] == []
        assert not (Path(environment["PAIRSIFT_DATA"]) / "service.json").exists()

    def test_a_port_in_use_is_an_error_that_says_so(self, environment: dict[str, str]) -> None:
        with socket.socket() as taken:
            taken.bind(("127.0.0.1", 0))
            taken.listen()
            port = str(taken.getsockname()[1])
            serve = pairsift(environment, "serve", "--port", port)
            _, said = serve.communicate(timeout=60)
        assert serve.returncode == 1
        assert f"cannot listen on 127.0.0.1:{port}" in said
        assert "--port" in said

    def test_a_killed_serve_takes_its_children_along(self, environment: dict[str, str]) -> None:
        serve = pairsift(environment, "serve", "--port", "0", "--json")
        read_json(serve)
        # Service, worker and the worker's own children: serve is ready before the worker has started them.
        eventually(lambda: len(pythons_below(serve)) >= 3)
        orphans = pythons_below(serve)
        serve.kill()
        serve.communicate()
        assert psutil.wait_procs(orphans, timeout=60)[1] == []
        # The servers stay for whoever comes next, and end with the last user.
        folder = Path(environment["PAIRSIFT_DATA"])
        assert servers_of(folder)
        with embedded_servers(folder):
            pass
        assert psutil.wait_procs(servers_of(folder), timeout=30)[1] == []


class TestDemo:
    def test_one_that_is_told_to_stop_leaves_nothing_behind(self, environment: dict[str, str], tmp_path: Path) -> None:
        demo = pairsift(environment, "demo", "--out", str(tmp_path), "--pairs", "80", "--json")
        eventually(lambda: len(pythons_below(demo)) >= 3)
        family = psutil.Process(demo.pid).children(recursive=True)
        demo.terminate()
        _, said = demo.communicate(timeout=120)
        assert demo.returncode == 128 + signal.SIGTERM, said
        assert psutil.wait_procs(family, timeout=60)[1] == []
        assert servers_of(Path(environment["PAIRSIFT_DATA"])) == []

    def test_a_small_demo_writes_its_report(self, environment: dict[str, str], tmp_path: Path) -> None:
        demo = pairsift(environment, "demo", "--out", str(tmp_path), "--pairs", "80", "--noise", "0.25", "--json")
        printed, said = demo.communicate(timeout=300)
        assert demo.returncode == 0, said
        report = json.loads((tmp_path / "report.json").read_text())
        assert report == json.loads(printed)
        names = "pairs accepted rejected flagged auroc precision recall f1 noise_true noise_estimate seconds stages"
        assert set(names.split()) <= set(report)
        assert (report["pairs"], report["accepted"], report["noise_true"]) == (80, 80, 0.25)
        assert {"auroc_random", "auroc_near_miss", "recall_near_miss"} <= set(report)
        assert {"draw", "start", "upload", "fetch", "encode", "train", "score", "explain", "publish", "export"} == set(
            report["stages"]
        )
        clean, flagged = ((tmp_path / f"{name}.tsv").read_text().splitlines() for name in ("clean", "flagged"))
        assert len(flagged) == report["flagged"]
        assert sorted(clean + flagged) == sorted((tmp_path / "collection" / "pairs.tsv").read_text().splitlines())
        assert "AUROC" in said


class TestClean:
    def test_needs_no_service_and_finds_images_next_to_the_file(
        self, environment: dict[str, str], scenes: Path, tmp_path: Path
    ) -> None:
        lines = [line.split("\t") for line in (scenes / "pairs.tsv").read_text().splitlines()]
        file, clean, flagged = (tmp_path / name for name in ("pairs.tsv", "clean.tsv", "flagged.tsv"))
        file.write_text("".join(f"images/{url.rpartition('/')[2]}\t{caption}\n" for caption, url in lines))
        (tmp_path / "images").symlink_to(scenes / "images")
        quick = [
            "--set",
            "method=crcl",
            "--set",
            "method_options.piece_epochs=[1]",
            "--set",
            "method_options.freeze_epochs=0",
        ]
        process = pairsift(environment, "clean", str(file), "-o", str(clean), "--flagged", str(flagged), *quick)
        printed, said = process.communicate(timeout=300)
        assert process.returncode == 0, said
        assert f"of {len(lines)} pairs" in printed
        both = clean.read_text().splitlines() + flagged.read_text().splitlines()
        assert sorted(both) == sorted(file.read_text().splitlines())
