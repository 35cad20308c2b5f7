"""The command line as a user meets it: its own process, its exit codes, its words."""

import json
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pyarrow.parquet as pq
import pytest
from sqlalchemy import Engine

from service.config import Settings, child_environment
from service.db.states import Scope
from tests.conftest import PAIRS, ROOT, make_key

QUICK = ["--set", "method=crcl", "--set", "method_options.piece_epochs=[1]", "--set", "method_options.freeze_epochs=0"]
ENDLESS = [*QUICK, "--set", f"method_options.piece_epochs={[1000] * 9}", "--set", "batch_size=16"]

Pairsift = Callable[..., "subprocess.CompletedProcess[str]"]


def command_of(*arguments: object) -> list[str]:
    return [sys.executable, "-m", "cli.main", *map(str, arguments)]


@pytest.fixture(scope="session")
def environment(settings: Settings, service_url: str, engine: Engine) -> dict[str, str]:
    """The service of the tests, and a key."""
    return child_environment(settings.model_copy(update={"url": service_url, "key": make_key(engine, Scope.WRITE)}))


@pytest.fixture(scope="session")
def pairsift(environment: dict[str, str]) -> Pairsift:
    def run(*arguments: object, code: int = 0, **changes: str) -> "subprocess.CompletedProcess[str]":
        command = command_of(*arguments)
        kept = {name: value for name, value in {**environment, **changes}.items() if value}
        done = subprocess.run(command, env=kept, cwd=ROOT, capture_output=True, text=True, timeout=300, check=False)
        assert done.returncode == code, done.stderr
        return done

    return run


class TestHelp:
    def test_names_every_verb(self, pairsift: Pairsift) -> None:
        text = pairsift("--help").stdout
        verbs = "demo serve worker migrate keys inspect upload run status cancel resume retry export clean bench"
        for verb in verbs.split():
            assert f" {verb} " in text

    def test_an_unknown_verb_is_wrong_use(self, pairsift: Pairsift) -> None:
        assert "No such command" in pairsift("frobnicate", code=2).stderr


@pytest.mark.usefixtures("worker")
class TestSteps:
    def test_upload_run_status_export(self, pairsift: Pairsift, scenes: Path, tmp_path: Path) -> None:
        collection = json.loads(pairsift("upload", scenes / "pairs.tsv", "--json").stdout)
        assert (collection["accepted"], collection["rejected"]) == (PAIRS, 0)
        ended = pairsift("run", collection["id"], *QUICK, "--json")
        run = json.loads(ended.stdout)
        assert run["state"] == "succeeded"
        assert all(f"{stage['name']}: done in" in ended.stderr for stage in run["stages"])
        shown = pairsift("status", run["id"]).stdout
        assert f"run {run['id']}  succeeded  100%" in shown
        assert "train" in shown
        out = tmp_path / "all.jsonl"
        export = json.loads(pairsift("export", run["id"], "-o", out, "--json").stdout)
        assert export["rows"] == PAIRS == len(out.read_text().splitlines())

    def test_retry_tells_how_many_images_come_again(self, pairsift: Pairsift, scenes: Path, tmp_path: Path) -> None:
        """One image is missing in the first run, and there in the second."""
        late = tmp_path / "late.jpg"
        lines = (scenes / "pairs.tsv").read_text().splitlines()
        caption, url = lines[0].split("\t")
        file = tmp_path / "pairs.tsv"
        file.write_text("".join(f"{line}\n" for line in [f"{caption}\t{late.as_uri()}", *lines[1:]]))
        id = json.loads(pairsift("upload", file, "--json").stdout)["id"]
        first = json.loads(pairsift("run", id, *QUICK, "--json").stdout)
        assert first["summary"]["unscored"] == 1
        late.write_bytes((scenes / "images" / Path(url).name).read_bytes())
        assert json.loads(pairsift("retry", id, "--class", "timeout", "--json").stdout) == {"forgotten": 0}
        assert "1 images will be tried again" in pairsift("retry", id).stdout
        assert json.loads(pairsift("run", id, *QUICK, "--json").stdout)["summary"]["unscored"] == 0

    def test_clean_in_one_go(self, pairsift: Pairsift, scenes: Path, tmp_path: Path) -> None:
        clean, flagged = tmp_path / "clean.tsv", tmp_path / "flagged.tsv"
        half = PAIRS // 2
        done = pairsift("clean", scenes / "pairs.tsv", "-o", clean, "--flagged", flagged, "--keep", half, *QUICK)
        assert f"{half} clean of {PAIRS} pairs" in done.stdout
        assert f"{half} of {PAIRS} scored pairs kept" in done.stdout
        assert len(clean.read_text().splitlines()) == half
        both = clean.read_text().splitlines() + flagged.read_text().splitlines()
        assert sorted(both) == sorted((scenes / "pairs.tsv").read_text().splitlines())

    def test_clean_takes_real_photographs_with_their_captions(
        self, pairsift: Pairsift, flickr8k: Path, tmp_path: Path
    ) -> None:
        """Sixty-four photographs of Flickr8k, one human caption each, by paths below an image root."""
        images = {path.name for path in sorted((flickr8k / "images").iterdir())[:64]}
        rows = [line.split("\t") for line in (flickr8k / "captions.tsv").read_text().rstrip("\n").split("\n")]
        chosen = [(name[:-2], caption) for name, caption in rows if name.endswith("#0") and name[:-2] in images]
        file, clean = tmp_path / "flickr.tsv", tmp_path / "clean.parquet"
        file.write_text("".join(f"{caption}\t{image}\n" for image, caption in chosen))
        done = pairsift("clean", file, "-o", clean, "--image-root", flickr8k / "images", *QUICK, "--json")
        result = json.loads(done.stdout)
        assert (result["pairs"], result["unscored"]) == (64, 0)
        kept = pq.read_table(clean).to_pylist()
        assert len(kept) == result["clean"]
        assert {(row["url"], row["caption"]) for row in kept} <= set(chosen)


@pytest.mark.usefixtures("worker")
class TestInterruption:
    def test_who_stops_looking_is_told_how_to_go_on(
        self, pairsift: Pairsift, environment: dict[str, str], scenes: Path
    ) -> None:
        collection = json.loads(pairsift("upload", scenes / "pairs.tsv", "--json").stdout)
        command = command_of("run", collection["id"], *ENDLESS)
        with subprocess.Popen(command, env=environment, cwd=ROOT, text=True, stderr=subprocess.PIPE) as looking:
            assert looking.stderr is not None
            id = looking.stderr.readline().split()[1]
            while "train" not in (line := looking.stderr.readline()):
                assert line, "ended before it trained"
            looking.send_signal(signal.SIGINT)
            said = looking.stderr.read()
        assert looking.returncode == 130
        assert f"run {id} is not cancelled and goes on" in said
        assert f"run {id}  running" in pairsift("status", id).stdout
        assert f"pairsift cancel {id}" in said
        pairsift("cancel", id)
        assert "the run is cancelled" in pairsift("status", id, "--wait", code=1).stderr
        assert "nothing to cancel" in pairsift("cancel", id, code=1).stderr
        assert f"run {id}  queued" in pairsift("resume", id, "--no-wait").stdout
        assert "only a failed or cancelled run can be resumed" in pairsift("resume", id, code=1).stderr
        pairsift("cancel", id)
        assert "the run is cancelled" in pairsift("status", id, "--wait", code=1).stderr


@pytest.mark.usefixtures("worker")
class TestMistakes:
    def test_a_missing_file_is_wrong_use(self, pairsift: Pairsift) -> None:
        assert "there is no file or folder nowhere.tsv" in pairsift("upload", "nowhere.tsv", code=2).stderr

    def test_an_empty_file_is_said_so(self, pairsift: Pairsift, tmp_path: Path) -> None:
        (tmp_path / "empty.tsv").touch()
        assert "empty.tsv is empty" in pairsift("upload", tmp_path / "empty.tsv", code=1).stderr

    def test_a_file_without_tabs_fails_with_the_reason(self, pairsift: Pairsift, tmp_path: Path) -> None:
        path = tmp_path / "words.tsv"
        path.write_text("no tab here\nnor here\n")
        assert "has a TAB" in pairsift("upload", path, code=1).stderr

    def test_an_unknown_option_fails_with_the_choices(self, pairsift: Pairsift, scenes: Path) -> None:
        collection = json.loads(pairsift("upload", scenes / "pairs.tsv", "--json").stdout)
        said = pairsift("run", collection["id"], "--set", "batch=3", code=1).stderr
        assert "batch: is not known; choose from" in said
        assert "batch_size" in said

    def test_a_malformed_setting_is_wrong_use(self, pairsift: Pairsift, scenes: Path) -> None:
        said = pairsift("clean", scenes / "pairs.tsv", "-o", "out.tsv", "--set", "seed", code=2).stderr
        assert "expected name=value" in said

    def test_no_service_says_how_to_start_one(self, pairsift: Pairsift, tmp_path: Path) -> None:
        said = pairsift(
            "status", "0" * 32, code=1, PAIRSIFT_URL="", PAIRSIFT_KEY="", PAIRSIFT_DATA=str(tmp_path)
        ).stderr
        assert "pairsift serve" in said

    def test_a_wrong_key_is_said_so(self, pairsift: Pairsift) -> None:
        assert "Send a valid key" in pairsift("status", "0" * 32, code=1, PAIRSIFT_KEY="psk_wrong").stderr

    def test_one_configured_server_without_the_other_is_refused(self, pairsift: Pairsift) -> None:
        assert "set both DATABASE_URL and BROKER_URL" in pairsift("migrate", code=1, BROKER_URL="").stderr


class TestKeys:
    def test_create_list_revoke(self, pairsift: Pairsift) -> None:
        made = json.loads(pairsift("keys", "create", "--name", "laptop", "--scope", "read", "--json").stdout)
        assert made["secret"].startswith("psk_")
        listed = json.loads(pairsift("keys", "list", "--json").stdout)["keys"]
        mine = next(key for key in listed if key["id"] == made["id"])
        assert (mine["name"], mine["scopes"], mine["revoked_at"]) == ("laptop", ["read"], None)
        assert made["secret"] not in json.dumps(listed)
        pairsift("keys", "revoke", made["id"])
        listed = json.loads(pairsift("keys", "list", "--json").stdout)["keys"]
        assert next(key for key in listed if key["id"] == made["id"])["revoked_at"]

    def test_revoking_nothing_fails(self, pairsift: Pairsift) -> None:
        assert "there is no key" in pairsift("keys", "revoke", "0" * 32, code=1).stderr


class TestMigrate:
    def test_twice_is_fine(self, pairsift: Pairsift) -> None:
        for _ in range(2):
            assert json.loads(pairsift("migrate", "--json").stdout) == {"migrated": True}
