"""pairsift status"""

from typing import Annotated
from uuid import UUID

import typer

from cli.output import JsonFlag, give, seconds_text
from cli.session import Wait, connected, follow_kept_run
from service.schemas import Run


def status(
    run: Annotated[UUID, typer.Argument(help="As `pairsift run` printed it.")],
    wait: Wait = False,
    as_json: JsonFlag = False,
) -> None:
    """Show the state, stages and progress of a run."""
    with connected() as client:
        found = client.run(run)
        found = follow_kept_run(client, found) if wait else found
    give(found.model_dump(mode="json"), as_json, describe(found))


def describe(run: Run) -> str:
    lines = [f"run {run.id}  {run.state}  {run.progress:.0%}"]
    if run.eta_seconds:
        lines[0] += f"  about {seconds_text(run.eta_seconds)} left"
    for stage in run.stages:
        lines.append(f"  {stage.name:<8} {stage.state:<10} {stage.progress:4.0%}  {seconds_text(stage.seconds)}")
    if run.summary:
        counts = ", ".join(f"{name} {run.summary[name]:,}" for name in ("pairs", "clean", "noisy", "unscored"))
        lines.append(f"  {counts}; estimated noise {run.summary['noise_estimate']:.1%}")
    if run.error:
        lines.append(f"  {run.error.title}: {run.error.detail}")
    return "\n".join(lines)
