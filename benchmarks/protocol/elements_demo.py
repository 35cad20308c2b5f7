"""The demo's scenes, whose contents are known: are the right elements found on both sides, is the wrong one named?"""

from collections.abc import Callable, Iterator
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
import numpy.typing as npt

from benchmarks.protocol.elements import Explained, Figures, collection_figures, explained, rounded
from benchmarks.protocol.elements_truth import is_depicted, is_head_shown, owners, shown
from model import metrics
from model.demo.collection import generate, read_pairs
from model.demo.pairs import DemoPair
from model.elements.captions import extractor
from model.elements.eme import Explanation
from model.encoders.lite import LiteEncoder
from model.encoders.readers import ImageReaders
from model.encoders.stream import encode_all
from model.pairs import Pairs

_CAPTIONS = 2  # of a scene, as `pairsift demo` has it


def demo_figures(
    seed: int,
    *,
    pairs: int = 4000,
    noise: float = 0.3,
    near_miss: float = 0.2,
    processes: int = 1,
    on_progress: Callable[[float], None] = lambda fraction: None,
) -> Figures:
    """Draw, encode, train and explain one collection, and compare with the truth."""
    with TemporaryDirectory() as name:
        folder = Path(name)
        generate(folder, pairs, noise, near_miss, seed, processes=processes, captions=_CAPTIONS)
        told = list(read_pairs(folder))
        features = _encoded(folder / "images", told, processes)
    return truth_figures(explained(features, seed, on_progress), told, seed)


def truth_figures(run: Explained, told: list[DemoPair], seed: int) -> Figures:
    found = run.found[: run.count]
    is_mismatch = np.array([pair.truth != "match" for pair in told])
    is_near = np.array([pair.truth == "near_miss" for pair in told])
    figures = collection_figures(run, is_mismatch, seed)
    kept = is_near | ~is_mismatch
    for name, is_hard in (("auroc_near_soft", False), ("auroc_near", True)):
        figures[name] = metrics.auroc(run.scores(is_hard=is_hard)[: run.count][kept], is_mismatch[kept])
    figures |= _caption_side(found, told) | _image_side(found, told)
    flagged = is_near & ~run.verdict.scores.is_clean
    figures["near_misses_flagged"] = int(flagged.sum())
    for name, part in (("named_of_flagged", flagged), ("named_of_all", is_near)):
        figures[name] = _named(found, told, np.flatnonzero(part))
    return rounded(figures)


def _encoded(images: Path, told: list[DemoPair], threads: int) -> Pairs:
    encoder = LiteEncoder(threads)
    vectors: dict[str, npt.NDArray[np.float32]] = {}
    with ImageReaders(encoder.preparation, threads) as readers:
        names = sorted({pair.image for pair in told})
        for batch in encode_all(encoder.encode_images, names, lambda name: (images / name).read_bytes(), readers):
            vectors |= dict(zip(batch.items, batch.vectors, strict=True))
    texts = [pair.caption for pair in told]
    image_ids, caption_ids = (
        np.unique(part, return_inverse=True)[1].astype(np.int64) for part in ([pair.image for pair in told], texts)
    )
    images_of = np.stack([vectors[pair.image] for pair in told])
    return Pairs(images_of, encoder.encode_captions(texts), image_ids, caption_ids, texts)


def _judged(found: list[Explanation], told: list[DemoPair]) -> Iterator[tuple[bool, bool]]:
    """Of every caption element whose truth is known: whether it was called depicted, and whether it is."""
    read = extractor()
    for one, pair in zip(found, told, strict=True):
        for element, judged in zip(read.elements(pair.caption), one.caption_elements, strict=True):
            truth = is_depicted(element, pair.scene)
            if truth is not None:
                yield judged.is_depicted, truth


def _caption_side(found: list[Explanation], told: list[DemoPair]) -> dict[str, float]:
    called, true = np.array(list(_judged(found, told))).T
    both = float((called & true).sum())
    return {"caption_precision": both / called.sum(), "caption_recall": both / true.sum()}


def _image_side(found: list[Explanation], told: list[DemoPair]) -> dict[str, float]:
    """Listed heads that are shown, and kinds and backgrounds that are listed."""
    right = listed = covered = there = 0
    for one, pair in zip(found, told, strict=True):
        heads = [element.lemma.split(" ")[-1] for element in one.image_elements]
        truths = [truth for head in heads if (truth := is_head_shown(head, pair.scene)) is not None]
        right, listed = right + sum(truths), listed + len(truths)
        named = frozenset[str]().union(*(owners(head) for head in heads))
        things = shown(pair.scene)
        covered, there = covered + len(things & named), there + len(things)
    return {"image_precision": right / listed, "image_recall": covered / there}


def _named(found: list[Explanation], told: list[DemoPair], rows: npt.NDArray[np.int64]) -> float:
    """Share of these near misses whose least likely element is the one that is wrong."""
    read, right = extractor(), 0
    for row in rows:
        elements, judged = read.elements(told[row].caption), found[row].caption_elements
        if judged:
            worst = min(range(len(judged)), key=lambda number: judged[number].probability)
            right += is_depicted(elements[worst], told[row].scene) is False
    return right / len(rows) if len(rows) else float("nan")
