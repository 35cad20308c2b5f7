from datetime import UTC, datetime
from email.utils import format_datetime

import pytest
from yarl import URL

from tests.worker.fetch.clock import WALL
from worker.fetch.answers import forbidding_directive, seconds_to_wait, status_error
from worker.fetch.errors import FetchClass

UNWANTED = ("noai", "noindex")
PAGE = URL("http://a.test/x.jpg")


class TestSecondsToWait:
    @pytest.mark.parametrize(
        ("header", "expected"),
        [
            ("120", 120.0),
            ("0", 0.0),
            ("-5", 0.0),
            (format_datetime(datetime.fromtimestamp(WALL + 90, UTC), usegmt=True), 90.0),
            ("Fri, 01 Jan 2010 00:00:00 GMT", 0.0),
            ("soon", None),
            ("nan", None),
            ("", None),
        ],
    )
    def test_numbers_and_dates_are_read(self, header: str, expected: float | None) -> None:
        assert seconds_to_wait(header, WALL) == expected


class TestStatusError:
    @pytest.mark.parametrize(
        ("status", "error_class", "is_transient", "is_busy"),
        [
            (403, FetchClass.FORBIDDEN, False, False),
            (404, FetchClass.NOT_FOUND, False, False),
            (410, FetchClass.HTTP_STATUS, False, False),
            (204, FetchClass.HTTP_STATUS, False, False),
            (429, FetchClass.RATE_LIMITED, True, True),
            (500, FetchClass.HTTP_STATUS, True, False),
            (503, FetchClass.HTTP_STATUS, True, True),
        ],
    )
    def test_every_status_has_its_class(
        self, status: int, error_class: FetchClass, is_transient: bool, is_busy: bool
    ) -> None:
        error = status_error(PAGE, status, "7", WALL)
        assert (error.error_class, error.is_transient, error.is_busy) == (error_class, is_transient, is_busy)
        assert error.retry_after == (7.0 if is_busy else None)


class TestForbiddingDirective:
    @pytest.mark.parametrize(
        ("headers", "expected"),
        [
            ([], None),
            (["all"], None),
            (["noai"], "noai"),
            (["NoAI"], "noai"),
            (["nofollow, noindex"], "noindex"),
            (["nofollow", "noai"], "noai"),
            (["otherbot: noai"], None),
            (["otherbot: noai", "pairsift: noindex"], "noindex"),
            (["Pairsift: nofollow, noai"], "noai"),
            (["unavailable_after: 25 Jun 2010 15:00:00 PST"], None),
            (["noai, unavailable_after: 25 Jun 2010"], "noai"),
            (["noaids"], None),
        ],
    )
    def test_only_what_is_said_to_us_counts(self, headers: list[str], expected: str | None) -> None:
        assert forbidding_directive(headers, "pairsift", UNWANTED) == expected
