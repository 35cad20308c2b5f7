"""The report of a run: as JSON, and as one HTML file to read, keep and pass on."""

from uuid import UUID

from fastapi import APIRouter
from fastapi.responses import HTMLResponse

from service.deps import ReadKey, SessionDep
from service.report.load import origin_of, published_report
from service.report.page import POLICY, render
from service.report.schemas import Report

router = APIRouter(prefix="/v1/runs/{id}", tags=["runs"])

HEADERS = {"Content-Security-Policy": POLICY, "X-Content-Type-Options": "nosniff", "Referrer-Policy": "no-referrer"}


@router.get("/report", operation_id="getReport", summary="What the run found, with its uncertainty")
def get(id: UUID, key: ReadKey, session: SessionDep) -> Report:
    """Noise rate and curve with intervals, histograms, agreement of the networks, slices, the most and least trusted
    pairs; what captions claim and images do not show, shifted rows and duplicates. `calibration` is null for a run
    without probes; `drift` says of a scored run whether its pairs look like those that were learned from."""
    return published_report(session, key, id)[1]


@router.get(
    "/report.html",
    operation_id="getReportPage",
    summary="The report as one HTML file",
    response_class=HTMLResponse,
)
def page(id: UUID, key: ReadKey, session: SessionDep) -> HTMLResponse:
    """Complete in itself: nothing is loaded from elsewhere, and it needs no script."""
    run, report = published_report(session, key, id)
    return HTMLResponse(render(report, origin_of(session, run)), headers=HEADERS)
