"""The networks that are trained together, with their inputs, optimisers and random state."""

import threading
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor

from model.backbones.base import Items, Matcher
from model.backbones.registry import BACKBONES
from model.config import RunConfig
from model.errors import TrainingError
from model.inputs import FeatureReader, Reader, Side, WordReader, load_reader
from model.options.backbones import HeadConfig, WordsConfig
from model.pairs import Identity, Pairs
from model.parallel import Fleet
from model.together import run_together
from model.training import Batch, Judge
from model.words import Vocabulary

MOST_DROPOUT = 0.9
# Keeps the random numbers of the networks apart.
_DRAW_SEED = 15_485_863
# Items encoded at once where there is nothing to learn.
_ENCODE_ROWS = 1024


class Networks:
    """Gives the similarity of any rows of the collection, learns by steps, saves and loads itself."""

    def __init__(
        self,
        pairs: Pairs,
        config: RunConfig,
        device: torch.device,
        extra: Callable[[int], list[torch.nn.Parameter]],
        saved: dict[str, Any] | None,
        is_compiled: bool = False,
        vocabulary: Vocabulary | None = None,
    ) -> None:
        self._config = config
        self._device = device
        self._count = len(pairs)
        self._extra = extra  # what the method itself learns with network k
        self._is_compiled = is_compiled
        self._fleet = Fleet()
        self._identity = Identity(pairs, device)
        options = config.backbone_options
        sources = (pairs.images, pairs.texts if options.reads_words else pairs.captions)
        if sources[1] is None:
            raise TrainingError(f"the backbone {config.backbone} reads words: the captions themselves are needed")
        if saved is None:
            self._readers = _fit_readers(config, sources, vocabulary)
        else:
            self._readers = [load_reader(state) for state in saved["readers"]]
        ids = (pairs.image_ids, pairs.caption_ids)
        self._sides = [Side(*side, device) for side in zip(sources, self._readers, ids, strict=True)]
        self.generators = [
            torch.Generator().manual_seed(config.seed + _DRAW_SEED * (k + 1)) for k in range(config.networks)
        ]
        self.renew()
        if saved is not None:
            self._load(saved)

    def renew(self) -> None:
        """Newly drawn weights, new optimisers."""
        make = BACKBONES[self._config.backbone]
        widths = [reader.width for reader in self._readers]
        options = self._config.backbone_options
        dropout = min(options.dropout * self._config.method_options.dropout_factor, MOST_DROPOUT)
        options = replace(options, dropout=dropout)
        self._networks = [make(options, *widths).to(self._device) for _ in range(self._config.networks)]
        if self._is_compiled:
            for network in self._networks:
                network.encode_images = torch.compile(network.encode_images, dynamic=True)  # type: ignore[method-assign]
                network.encode_captions = torch.compile(network.encode_captions, dynamic=True)  # type: ignore[method-assign]
        kind = torch.optim.AdamW if self._config.optimiser == "adamw" else torch.optim.Adam
        self._optimisers = [
            kind(
                [*network.parameters(), *self._extra(k)],
                lr=self._rate,
                weight_decay=self._config.weight_decay,
                fused=True,
            )
            for k, network in enumerate(self._networks)
        ]

    def set_rate(self, share: float) -> None:
        """Take this share of the full learning rate from now on."""
        for optimiser in self._optimisers:
            for group in optimiser.param_groups:
                group["lr"] = self._rate * share

    def batch(self, k: int, rows: Tensor) -> Batch:
        """These rows as network k sees them, ready for learning."""
        network = self._networks[k].train()
        fleet, count = self._fleet, len(rows)
        with self._precision():
            images = network.encode_images(fleet.share(self._sides[0][rows]))
            captions = network.encode_captions(fleet.share(self._sides[1][rows]))
            raw = network.compare(images, fleet.gather(captions, count))
        raw = fleet.whole(raw.float(), count)
        vectors = None
        if network.gives_vectors:
            vectors = fleet.whole(images[0].float(), count), fleet.whole(captions[0].float(), count)
        return self._batch(network, rows, raw, vectors)

    def step(self, k: int, loss: Tensor) -> None:
        network, optimiser = self._networks[k], self._optimisers[k]
        optimiser.zero_grad()
        loss.backward()  # type: ignore[no-untyped-call]
        self._fleet.sum_gradients(network.parameters())
        torch.nn.utils.clip_grad_norm_(network.parameters(), self._config.gradient_clip, foreach=True)
        optimiser.step()

    def look(
        self,
        k: int,
        judge: Judge,
        size: int,
        generator: torch.Generator,
        poll: Callable[[], None],
        lanes: int = 1,
    ) -> Tensor:
        """Map `judge` over the collection in random batches, network k in evaluation mode: (N, ...).

        `lanes` threads share the batches, which know nothing of each other."""
        order = torch.randperm(self._count, generator=generator)
        # The last batch is filled from the start: every pair meets the same number of negatives.
        order = torch.cat([order, order[: -self._count % size]])
        batches = torch.split(order, size)
        found: dict[int, Tensor] = {}

        def judged(lane: int, is_over: threading.Event) -> None:
            for number in range(self._fleet.rank + lane, len(batches), self._fleet.size * lanes):
                if lanes == 1:
                    poll()
                elif is_over.is_set():
                    return
                found[number] = self._judged(k, judge, batches[number]).cpu()

        if lanes == 1:
            judged(0, threading.Event())
        else:
            run_together([partial(judged, lane) for lane in range(lanes)], poll)
        some = next(iter(found.values()))
        values = torch.zeros(len(order), *some.shape[1:])
        for number, value in found.items():
            values[number * size : number * size + len(value)] = value
        values = self._fleet.sum(values)[: self._count]
        out = torch.empty_like(values)
        out[order[: self._count]] = values
        return out

    def spread(self, k: int, size: int) -> float:
        """How much network k's scores of one batch differ, along the images or the captions: the smaller of both.

        Where all content is the same there is nothing to tell apart, and the answer is 1.
        """
        rows = torch.linspace(0, self._count - 1, size).long()

        def judge(batch: Batch) -> Tensor:
            along = [batch.similarity.std(dim=side, correction=0).mean() for side in (0, 1)]
            return torch.ones(1) if batch.forbidden.all() else torch.stack(along).amin(dim=0, keepdim=True)

        return float(self._judged(k, judge, rows))

    def similarities(self, images: Any, captions: Any) -> npt.NDArray[np.float32]:
        """(images, captions) matrix of the mean similarity, for features (or words) from anywhere."""
        total = torch.zeros(len(images), len(captions))
        with torch.inference_mode():
            for network in self._networks:
                network.eval()
                seen = self._encoded(network.encode_images, self._readers[0], images)
                read = self._encoded(network.encode_captions, self._readers[1], captions)
                for start, some in seen:
                    for at, others in read:
                        block = network.similarity(network.compare(some, others)).float().cpu()
                        total[start : start + block.shape[0], at : at + block.shape[1]] += block
        return (total / len(self._networks)).numpy()

    @property
    def gives_vectors(self) -> bool:
        return self._networks[0].gives_vectors

    def vectors(self, side: int, rows: Tensor) -> Tensor:
        """(n, D) vectors of the images (side 0) or captions (1) of these pairs, the networks side by side."""
        with torch.inference_mode():
            items = self._sides[side][rows]
            name = ("encode_images", "encode_captions")[side]
            return torch.cat([getattr(network.eval(), name)(items)[0].float() for network in self._networks], 1).cpu()

    def state(self) -> dict[str, Any]:
        return {
            "networks": [network.state_dict() for network in self._networks],
            "optimisers": [optimiser.state_dict() for optimiser in self._optimisers],
            "readers": [reader.state() for reader in self._readers],
            "generators": [generator.get_state() for generator in self.generators],
            "torch_rng": torch.get_rng_state(),
            "cuda_rng": torch.cuda.get_rng_state(self._device) if self._device.type == "cuda" else None,
        }

    @property
    def _rate(self) -> float:
        return self._config.method_options.learning_rate * self._config.backbone_options.learning_rate_factor

    def _load(self, state: dict[str, Any]) -> None:
        for network, saved in zip(self._networks, state["networks"], strict=True):
            network.load_state_dict(saved)
        for optimiser, saved in zip(self._optimisers, state["optimisers"], strict=True):
            optimiser.load_state_dict(saved)
        for generator, saved in zip(self.generators, state["generators"], strict=True):
            generator.set_state(saved)
        torch.set_rng_state(state["torch_rng"])
        if state["cuda_rng"] is not None and self._device.type == "cuda":
            torch.cuda.set_rng_state(state["cuda_rng"], self._device)

    def _judged(self, k: int, judge: Judge, rows: Tensor) -> Tensor:
        network = self._networks[k].eval()
        with torch.inference_mode():
            images, captions = (side[rows] for side in self._sides)
            with self._precision():
                encoded = network.encode_images(images), network.encode_captions(captions)
                raw = network.compare(*encoded)
            vectors = (encoded[0][0].float(), encoded[1][0].float()) if network.gives_vectors else None
            return judge(self._batch(network, rows, raw.float(), vectors)).float()

    def _batch(self, network: Matcher, rows: Tensor, raw: Tensor, vectors: tuple[Tensor, Tensor] | None) -> Batch:
        return Batch(rows, network.similarity(raw), self._identity.forbidden(rows), network.signed(raw), vectors)

    def _encoded(self, encode: Callable[[Items], Items], reader: Reader, source: Any) -> list[tuple[int, Items]]:
        chunks = []
        for start in range(0, len(source), _ENCODE_ROWS):
            rows = np.arange(start, min(start + _ENCODE_ROWS, len(source)), dtype=np.int64)
            chunks.append((start, encode(tuple(part.to(self._device) for part in reader(source, rows)))))
        return chunks

    def _precision(self) -> torch.autocast:
        """bfloat16 where a GPU gains by it; a CPU without such instructions would be a hundred times slower."""
        is_mixed = self._device.type == "cuda" and torch.cuda.is_bf16_supported()
        return torch.autocast(self._device.type, dtype=torch.bfloat16, enabled=is_mixed)


class Learned:
    """One side of the collection as the networks see it, computed when asked for: an array to index."""

    def __init__(self, networks: Networks, side: int, count: int) -> None:
        self._networks = networks
        self._side = side
        self.shape = (count, networks.vectors(side, torch.zeros(1, dtype=torch.int64)).shape[1])

    def __len__(self) -> int:
        return self.shape[0]

    def __getitem__(self, rows: npt.NDArray[np.int64]) -> npt.NDArray[np.float32]:
        return self._networks.vectors(self._side, torch.from_numpy(rows)).numpy()


def _fit_readers(config: RunConfig, sources: tuple[Any, Any], vocabulary: Vocabulary | None) -> list[Reader]:
    options = config.backbone_options
    if isinstance(options, HeadConfig) and options.start == "identity":
        readers: list[Reader] = [FeatureReader.fit_scale(source) for source in sources]
        if readers[0].width != readers[1].width:
            raise TrainingError("an identity start needs image and caption features of one size")
        return readers
    images = FeatureReader.fit(sources[0], is_pooled=not options.reads_regions, components=options.input_size)
    if not isinstance(options, WordsConfig):
        return [images, FeatureReader.fit(sources[1], is_pooled=True, components=options.input_size)]
    words = vocabulary or Vocabulary.build(sources[1], options.least_word_count)
    return [images, WordReader(words.words, options.longest_caption)]
