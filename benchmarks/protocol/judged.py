"""A whole run on some pairs: probes, training, fusion, calibration."""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from model.config import RunConfig
from model.engine import Engine
from model.pairs import Pairs
from model.probes import Probes, make_probes, with_probes
from model.trust import Verdict, adviser, judge

# Of the progress, training; the rest is judging.
_TRAINING = 0.85


@dataclass(frozen=True)
class Judged:
    pairs: Pairs  # the collection, and behind it its probes
    probes: Probes
    engine: Engine
    verdict: Verdict

    @property
    def count(self) -> int:
        """Pairs that are no probes."""
        return len(self.pairs) - len(self.probes)


def judged(
    pairs: Pairs,
    config: RunConfig,
    device: str = "cpu",
    on_progress: Callable[[float], None] = lambda fraction: None,
    folder: Path | None = None,
) -> Judged:
    """With a folder the training leaves its checkpoints there."""
    probes = make_probes(pairs, config.probe_share, config.seed)
    both = with_probes(pairs, probes)
    show = lambda progress: on_progress(_TRAINING * progress.fraction)  # noqa: E731
    engine = Engine(both, config, folder, device, on_progress=show, adviser=adviser(both, probes))
    engine.fit()
    verdict = judge(engine, both, probes, lambda part: on_progress(_TRAINING + (1 - _TRAINING) * part))
    return Judged(both, probes, engine, verdict)
