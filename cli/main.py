"""The command `pairsift`: one small file per verb. Exit code 0 done, 1 failed, 2 wrong use."""

import logging
import signal
import sys

import typer

from cli import (
    bench,
    cancel,
    clean,
    demo,
    export,
    flagged,
    inspect,
    keys,
    migrate,
    report,
    resume,
    retry,
    review,
    run,
    score,
    serve,
    status,
    upload,
    worker,
)
from cli.output import complain
from cli.stack import StackError
from service.client import ApiProblem
from service.embedded import EmbeddedError

app = typer.Typer(
    name="pairsift",
    help="Cleans collections of web image-text pairs: learns from the noisy pairs themselves which ones match.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    add_completion=False,
)
app.command("demo")(demo.demo)
app.command("serve")(serve.serve)
app.command("clean")(clean.clean)
app.command("inspect")(inspect.inspect)
app.command("upload")(upload.upload)
app.command("run")(run.run)
app.command("score")(score.score)
app.command("status")(status.status)
app.command("cancel")(cancel.cancel)
app.command("resume")(resume.resume)
app.command("retry")(retry.retry)
app.command("report")(report.report)
app.command("flagged")(flagged.flagged)
app.command("review")(review.review)
app.command("export")(export.export)
app.command("worker")(worker.worker)
app.command("migrate")(migrate.migrate)
app.add_typer(keys.app, name="keys")
app.add_typer(bench.app, name="bench")


def main() -> None:
    # Ends in order, as Ctrl-C does: else the servers that a command started, and its folder, would stay. `serve` and
    # `worker` have handlers of their own.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(128 + signal.SIGTERM))
    logging.basicConfig(level=logging.WARNING, format="%(asctime)s %(levelname)s %(name)s: %(message)s")
    try:
        app()
    except (ApiProblem, EmbeddedError, StackError, OSError, RuntimeError) as error:
        complain(str(error))
        sys.exit(1)


if __name__ == "__main__":
    main()
