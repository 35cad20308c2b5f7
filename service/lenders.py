"""Which runs can judge new pairs: the server refuses the others, and the command says so before it uploads anything."""

from service import schemas
from service.db.states import JobState, StageName
from service.problems import Problem, conflict


def refusal(run: schemas.Run) -> Problem | None:
    if run.state != JobState.SUCCEEDED:
        detail = f"The run {run.id} is '{run.state}'; it can judge new pairs once it has succeeded."
        return conflict("run_not_published", "The run has no scores yet", detail)
    if not any(stage.name == StageName.TRAIN for stage in run.stages):
        lender = f" Use the run {run.model_run_id}." if run.model_run_id else ""
        detail = f"The run {run.id} judged its pairs with the networks of another run and trained none.{lender}"
        return conflict("run_not_trained", "The run has no networks of its own", detail)
    if reason := (run.summary or {}).get("cannot_judge"):
        detail = f"The run {run.id} cannot judge new pairs: {reason}. Start a run of the new pairs themselves."
        return conflict("run_cannot_judge", "The run cannot judge new pairs", detail)
    return None
