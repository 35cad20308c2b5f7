"""What hosts ask for, and that they get it: robots.txt, X-Robots-Tag, pauses, few requests at once."""

from collections.abc import Iterator

import pytest

from tests.worker.fetch.clock import FastClock
from tests.worker.fetch.getting import OPEN, PERSISTENT, POLITE, Names, class_of, failure, get, get_all
from tests.worker.fetch_server import FetchServer, fetch_server, jpeg
from worker.fetch.errors import FetchClass, FetchError


@pytest.fixture
def host() -> Iterator[FetchServer]:
    with fetch_server() as server:
        yield server


class TestRobots:
    def test_forbidden_pages_are_not_asked_for(self, host: FetchServer) -> None:
        host.robots = (200, "User-agent: *\nDisallow: /image/2")
        answers = get_all(POLITE, [f"{host.url}/image/{number}.jpg" for number in (1, 2)])
        assert answers[0] == jpeg(1)
        assert isinstance(answers[1], FetchError)
        assert answers[1].error_class == FetchClass.ROBOTS
        assert host.hits == {"/robots.txt": 1, "/image/1.jpg": 1}

    def test_target_of_a_redirect_is_checked_too(self, host: FetchServer) -> None:
        host.robots = (200, "User-agent: *\nDisallow: /image/")
        assert class_of(POLITE, f"{host.url}/hop/0") == FetchClass.ROBOTS
        assert host.hits["/image/1.jpg"] == 0

    @pytest.mark.parametrize(("status", "is_allowed"), [(404, True), (401, True), (500, False), (503, False)])
    def test_status_of_the_file_decides(self, host: FetchServer, status: int, is_allowed: bool) -> None:
        host.robots = (status, "")
        answer = get_all(POLITE, [f"{host.url}/image/1.jpg"], clock=FastClock())[0]
        assert isinstance(answer, bytes) is is_allowed
        assert host.hits["/image/1.jpg"] == is_allowed

    def test_only_the_first_half_megabyte_counts(self, host: FetchServer) -> None:
        host.robots = (200, "User-agent: *\n" + "#" * 600_000 + "\nDisallow: /")
        assert get(POLITE, f"{host.url}/image/1.jpg") == jpeg(1)

    def test_crawl_delay_is_kept(self, host: FetchServer) -> None:
        host.robots = (200, "User-agent: *\nCrawl-delay: 4")
        clock = FastClock()
        get_all(POLITE, [f"{host.url}/image/{number}.jpg" for number in range(5)], clock=clock)
        assert clock.time == 1000.0 + 4 * 4

    def test_marked_image_is_left(self, host: FetchServer) -> None:
        error = failure(OPEN, f"{host.url}/tagged?tag=nofollow&tag=otherbot: noai&tag=noimageai")
        assert error.error_class == FetchClass.ROBOTS
        assert "'noimageai' in X-Robots-Tag" in str(error)

    def test_mark_for_another_robot_is_not_for_us(self, host: FetchServer) -> None:
        assert get(OPEN, f"{host.url}/tagged?tag=otherbot: noai") == jpeg(3)

    def test_marks_can_be_chosen(self, host: FetchServer) -> None:
        settings = OPEN.model_copy(update={"fetch_disallowed_directives": ()})
        assert get(settings, f"{host.url}/tagged?tag=noai") == jpeg(3)


class TestPoliteness:
    def test_one_host_gets_few_requests_at_once(self, host: FetchServer) -> None:
        settings = OPEN.model_copy(update={"fetch_host_concurrency": 3})
        get_all(settings, [f"{host.url}/image/{number}.jpg" for number in range(30)])
        assert host.most_at_once <= 3
        assert host.asked == 30

    def test_all_hosts_together_get_no_more_than_the_total(self, host: FetchServer) -> None:
        settings = OPEN.model_copy(update={"fetch_concurrency": 2})
        urls = [f"{host.at(f'h{number}.test')}/image/{number}.jpg" for number in range(30)]
        get_all(settings, urls, look_up=Names(["127.0.0.1"]).look_up)
        assert host.most_at_once <= 2
        assert host.asked == 30

    @pytest.mark.parametrize(("header", "waited"), [("?Retry-After=30", 30.0), ("", 1.0)])
    @pytest.mark.parametrize("status", [429, 503])
    def test_busy_host_is_asked_again_after_its_time(
        self, host: FetchServer, status: int, header: str, waited: float
    ) -> None:
        clock = FastClock()
        assert get(PERSISTENT, f"{host.url}/busy/{status}/1{header}", clock=clock) == jpeg(2)
        assert clock.slept == [waited]
        assert host.asked == 2

    def test_whole_host_waits_not_only_the_page(self, host: FetchServer) -> None:
        settings = PERSISTENT.model_copy(update={"fetch_host_concurrency": 1})
        clock = FastClock()
        urls = [f"{host.url}/busy/429/1?Retry-After=50", f"{host.url}/image/1.jpg"]
        assert get_all(settings, urls, clock=clock) == [jpeg(2), jpeg(1)]
        assert clock.time >= 1050
        assert clock.slept[0] == 50.0

    def test_host_that_asks_for_an_hour_is_left_alone(self, host: FetchServer) -> None:
        clock = FastClock()
        error = failure(PERSISTENT, f"{host.url}/busy/429/9?Retry-After=3600", clock=clock)
        assert (error.error_class, host.asked, clock.slept) == (FetchClass.RATE_LIMITED, 1, [])
        assert "left alone for this run" in str(error)

    def test_passing_faults_are_tried_again_with_growing_pauses(self, host: FetchServer) -> None:
        clock = FastClock()
        assert class_of(PERSISTENT, f"{host.url}/status/502", clock=clock) == FetchClass.HTTP_STATUS
        assert (host.asked, clock.slept) == (3, [1.0, 2.0])

    def test_a_body_cut_short_is_asked_for_again(self, host: FetchServer) -> None:
        assert class_of(PERSISTENT, f"{host.url}/short", clock=FastClock()) == FetchClass.TRUNCATED
        assert host.asked == 3

    @pytest.mark.parametrize("path", ["status/404", "status/403", "status/410", "bomb"])
    def test_lasting_faults_are_not_tried_again(self, host: FetchServer, path: str) -> None:
        clock = FastClock()
        failure(PERSISTENT, f"{host.url}/{path}", clock=clock)
        assert (host.asked, clock.slept) == (1, [])

    def test_dead_host_is_given_up(self, host: FetchServer) -> None:
        settings = OPEN.model_copy(update={"fetch_host_failures": 5, "fetch_host_concurrency": 1})
        answers = get_all(settings, [f"{host.url}/status/500?n={number}" for number in range(20)], clock=FastClock())
        assert host.asked == 5
        assert {str(answer.error_class) for answer in answers if isinstance(answer, FetchError)} == {"http_status"}
        assert sum("given up for this run after 5 failures in a row" in str(answer) for answer in answers) == 15
