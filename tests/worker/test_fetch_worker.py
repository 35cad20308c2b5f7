"""The stage in a real worker: its children are daemons, which may not have children of every kind."""

from pathlib import Path

import pytest

from service.client import Client
from service.config import Settings
from service.schemas import Run, StageStatus
from service.storage import Storage
from tests.service.serving import eventually
from tests.test_end_to_end import QUICK, upload, write_lines
from tests.worker.fetch_server import fetch_server


def fetch_stage(run: Run) -> StageStatus:
    return next(stage for stage in run.stages if stage.name == "fetch")


@pytest.mark.usefixtures("worker")
class TestFetch:
    def test_images_are_fetched_decoded_and_counted(self, client: Client, settings: Settings, tmp_path: Path) -> None:
        with fetch_server() as host:
            lines = [f"picture {number}\t{host.url}/image/{number}.jpg" for number in range(8)]
            lines += [f"cut\t{host.url}/cut", f"no image\t{host.url}/text"]
            lines += [f"gone {number}\t{host.url}/status/404" for number in range(60)]
            collection_id = upload(client, write_lines(tmp_path / "pairs.tsv", lines))
            run_id = client.start_run(collection_id, QUICK).id
            eventually(lambda: fetch_stage(client.run(run_id)).state in ("succeeded", "failed"))
        assert host.hits["/status/404"] == 1
        assert fetch_stage(client.run(run_id)).message == "8 of 70 images (11.4 %)"
        images = client.collection(collection_id).images
        assert images == {"success": 8, "404": 60, "truncated": 1, "not_an_image": 1}
        assert any((Storage(settings.required_storage).root / "thumbnails").iterdir())
        assert client.wait_for_run(run_id).state == "failed"  # for want of pairs
