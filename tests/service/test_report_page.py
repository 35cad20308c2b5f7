"""The HTML file: well formed, complete in itself, and harmless whatever captions and URLs say."""

import json
import re
from html.parser import HTMLParser
from typing import Any
from uuid import UUID
from xml.etree import ElementTree

import pytest

from service.report.page import Origin, render
from service.report.schemas import Drift, Report
from service.report.words import choices, headline, percent
from tests.service.report_samples import HOSTILE, HOSTILE_URL, WHY_NO_PROBES, made_drift, made_report

VOID = {"meta", "br"}
LOADING = {"src", "srcset", "background", "poster", "data", "action", "formaction", "xlink:href", "style"}


class Page(HTMLParser):
    """Every element with its attributes and text; fails where tags do not close one another."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.open: list[str] = []
        self.elements: list[tuple[str, dict[str, str | None]]] = []
        self.texts: list[str] = []
        self.feed(text)
        self.close()
        assert self.open == []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.append((tag, dict(attrs)))
        if tag not in VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.append((tag, dict(attrs)))

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        self.texts.append(data)


def report_of(**changes: bool) -> Report:
    made = Report(run_id=UUID(int=1), collection_id=UUID(int=2), headline="", **made_report(**changes))
    made.headline = headline(made.calibration, made.slices.overall)
    return made


def drifted(*, looks_different: bool) -> Report:
    return report_of().model_copy(update={"drift": Drift(**made_drift(looks_different=looks_different))})


def html_of(report: Report, name: str = "made", settings: dict[str, Any] | None = None) -> str:
    return render(report, Origin(name, None, settings or {"seed": 7, "method_options": {"q": 0.5}}, 0))


@pytest.fixture(scope="module")
def html() -> str:
    return html_of(report_of(), name=HOSTILE)


@pytest.fixture(scope="module")
def page(html: str) -> Page:
    return Page(html)


class TestRender:
    def test_sections_come_in_order(self, html: str) -> None:
        titles = """About 39 %|judged pairs|What each cut gives|How sure the networks are|Losses and the fitted mixture|
            Agreement of the two networks|Where flagged pairs come from|Least trusted|Most trusted|What was run"""
        places = [html.index(title.strip()) for title in titles.split("|")]
        assert places == sorted(places)

    def test_hostile_text_is_shown_as_text(self, page: Page) -> None:
        assert {tag for tag, _ in page.elements}.isdisjoint({"script", "img", "b", "iframe", "object", "link", "base"})
        assert page.texts.count(HOSTILE) >= 4  # the name of the collection, a label twice, the caption twice

    def test_only_web_addresses_are_links(self, page: Page) -> None:
        links = [attributes for tag, attributes in page.elements if tag == "a"]
        assert len(links) == 38
        assert {link["rel"] for link in links} == {"noreferrer nofollow noopener"}
        assert all(str(link["href"]).startswith("https://images.example.com/") for link in links)
        assert HOSTILE_URL in page.texts

    def test_nothing_is_loaded_from_elsewhere(self, html: str, page: Page) -> None:
        names = {name for _, attributes in page.elements for name in attributes}
        assert not {name for name in names if name.startswith("on")} | (names & LOADING)
        style = html.partition("<style>")[2].partition("</style>")[0]
        assert "url(" not in style
        assert "@import" not in style
        without_links = re.sub(r'<a href="[^"]*"[^>]*>.*?</a>', "", html)
        assert "http" not in without_links.replace("http-equiv", "")

    def test_policy_allows_its_own_style_alone(self, page: Page) -> None:
        policies = [attributes["content"] for _, attributes in page.elements if "http-equiv" in attributes]
        assert [str(policy).startswith("default-src 'none'; style-src 'sha256-") for policy in policies] == [True]

    def test_every_plot_is_well_formed_and_explained(self, html: str) -> None:
        drawings = re.findall(r"<svg.*?</svg>", html, re.DOTALL)
        assert len(drawings) > 20
        for drawing in drawings:
            ElementTree.fromstring(drawing)
        figures = re.findall(r"<figure>.*?</figure>", html, re.DOTALL)
        assert len(figures) == 4
        for figure in figures:
            assert figure.count('class="label"') == 2
            assert re.search(r"<h2>.+</h2>", figure)
            assert re.search(r"<figcaption>.+</figcaption>", figure)

    def test_settings_are_listed_by_dotted_name(self, page: Page) -> None:
        assert page.texts[page.texts.index("method_options.q") + 1 :][0] == "0.5"
        assert json.dumps(["30,000 pairs", "no joint encoder"]) in page.texts

    def test_elements_and_repairs_have_sections(self, page: Page) -> None:
        text = " ".join(" ".join(page.texts).split())
        assert "cannot see contradictions or complements" in text
        assert "rows 1,200-1,380 look shifted" in text
        assert "4: rows 3, 5, 8, 13" in text
        assert f"The detector /models/{HOSTILE}.onnx looked for 91 kinds of things" in text
        assert "saw some in 2,345 of 4,000 images; 3 could not be read any more." in text

    def test_a_run_without_a_detector_speaks_of_none(self) -> None:
        plain = report_of()
        assert plain.elements is not None
        plain.elements.detector = None
        assert "detector" not in html_of(plain)

    def test_a_run_without_explanations_has_no_such_sections(self) -> None:
        plain = report_of().model_copy(update={"elements": None, "repair": None})
        text = html_of(plain)
        assert "What captions claim" not in text
        assert "What could be repaired" not in text

    def test_a_run_without_probes_and_loss_says_so(self) -> None:
        html = html_of(report_of(has_probes=False, has_loss=False))
        Page(html)
        assert "This run had no probes" in html
        assert "Losses and the fitted" not in html
        assert "Where to cut" not in html

    @pytest.mark.parametrize(("probe_share", "advice"), WHY_NO_PROBES)
    def test_a_run_without_probes_says_what_would_give_some(self, probe_share: float, advice: str) -> None:
        assert advice in html_of(report_of(has_probes=False), settings={"probe_share": probe_share})

    def test_shares_of_no_pairs_leave_gaps_not_errors(self) -> None:
        report = report_of()
        assert report.calibration is not None
        for row in report.calibration.curve[:60]:
            row.precision = row.precision_low = row.precision_high = None
        assert "–" in Page(html_of(report)).texts

    def test_near_misses_that_are_not_counted_are_said(self) -> None:
        report = report_of()
        assert report.calibration is not None
        assert "would not be counted as mismatches" in html_of(report)
        report.calibration.near_share = 0.25
        assert "would not be counted as mismatches" not in html_of(report)

    def test_pairs_that_look_different_are_warned_of(self) -> None:
        html = html_of(drifted(looks_different=True))
        Page(html)
        assert '<p class="missing">The images no longer look like those of the run: 30.0% of the images' in html

    def test_pairs_that_look_the_same_are_a_note(self) -> None:
        html = html_of(drifted(looks_different=False))
        assert '<p class="note">The new pairs look like those of the run: 1.0% of the images' in html

    def test_a_run_that_trained_speaks_of_no_drift(self, html: str) -> None:
        assert "those of the run" not in html


class TestHeadline:
    def test_pairs_that_look_different_are_said_first(self) -> None:
        made = drifted(looks_different=True)
        said = headline(made.calibration, made.slices.overall, made.drift)
        assert said.startswith("Do not rely on these scores: the pairs do not look like those")
        assert said.endswith(made.headline)

    def test_pairs_that_look_the_same_change_nothing(self) -> None:
        made = drifted(looks_different=False)
        assert headline(made.calibration, made.slices.overall, made.drift) == made.headline

    def test_tells_rate_interval_kept_and_precision(self) -> None:
        said = report_of().headline
        assert said.startswith(
            "About 39 % of the pairs do not match (95 % interval 37 % to 41 %). 2,380 pairs are kept"
        )
        assert said.endswith("of these about 99.6 % match.")

    @pytest.mark.parametrize(
        ("rate", "pairs", "is_doubtful"), [(0.8, 3000, True), (0.6, 1000, False), (0.8, 6000, False)]
    )
    def test_few_matches_among_many_mismatches_are_doubted(self, rate: float, pairs: int, is_doubtful: bool) -> None:
        made = report_of()
        assert made.calibration is not None
        made.calibration.noise_rate.estimate = rate
        overall = made.slices.overall.model_copy(update={"pairs": pairs})
        assert headline(made.calibration, overall).endswith("review some.") is is_doubtful

    def test_nothing_is_said_of_kept_pairs_where_there_are_none(self) -> None:
        made = report_of()
        overall = made.slices.overall.model_copy(update={"flagged": made.slices.overall.pairs})
        assert headline(made.calibration, overall).endswith("0 pairs are kept at the automatic cut.")

    def test_a_report_from_before_near_misses_were_counted_can_be_read(self) -> None:
        stored = made_report()
        del stored["calibration"]["near_share"]
        made = Report(run_id=UUID(int=1), collection_id=UUID(int=2), headline="", **stored)
        assert made.calibration is not None
        assert made.calibration.near_share == 0

    def test_near_misses_are_named_where_there_are_some(self) -> None:
        made = report_of()
        assert "near misses" not in made.headline
        assert made.calibration is not None
        made.calibration.near_share = 0.25
        said = headline(made.calibration, made.slices.overall)
        assert "(95 % interval 37 % to 41 %); about 25 % of these are near misses" in said

    def test_no_evidence_is_an_answer(self) -> None:
        assert report_of(has_evidence=False).headline.startswith("No evidence of mismatch: at most about 41 %")

    def test_no_probes_are_said(self) -> None:
        assert "is not estimated" in report_of(has_probes=False).headline


class TestChoices:
    def test_each_target_has_the_lowest_cut_that_reaches_it(self) -> None:
        calibration = report_of().calibration
        assert calibration is not None
        found = dict(choices(calibration))
        assert list(found) == ["automatic", "90 % precision", "95 % precision", "98 % precision", "99 % precision"]
        assert found["automatic"].cut == pytest.approx(0.5, abs=0.006)
        row = found["95 % precision"]
        before = calibration.curve[calibration.curve.index(row) - 1]
        assert (before.precision or 0) < 0.95 <= (row.precision or 0)


class TestPercent:
    @pytest.mark.parametrize(
        ("share", "text"),
        [
            (0, "0 %"),
            (1, "100 %"),
            (0.39, "39 %"),
            (0.051, "5.1 %"),
            (0.974, "97.4 %"),
            (1e-9, "0.1 %"),
            (0.99999, "99.9 %"),
        ],
    )
    def test_is_fine_near_both_ends(self, share: float, text: str) -> None:
        assert percent(share) == text

    def test_unknown_is_a_dash(self) -> None:
        assert percent(None) == "–"
