"""Brushes for whole backgrounds: gradients, hills, soft clouds, strokes."""

import math
from collections.abc import Sequence
from random import Random

import numpy as np
from PIL import Image, ImageDraw, ImageFilter

from model.demo.palette import RGB, mix

Stops = Sequence[tuple[float, RGB]]
_SOFT = 4  # soft light is computed on a canvas smaller by this much


def wash(size: tuple[int, int], stops: Stops) -> Image.Image:
    """A vertical gradient through the stops."""
    width, height = size
    rows = np.linspace(0.0, 1.0, height)
    at = [position for position, _ in stops]
    column = np.stack([np.interp(rows, at, [colour[c] for _, colour in stops]) for c in range(3)], axis=1)
    pixels = np.broadcast_to(column.astype(np.uint8)[:, None, :], (height, width, 3))
    return Image.fromarray(np.ascontiguousarray(pixels))


def ridge(rng: Random, width: int, base: float, swing: float, waves: int = 3) -> list[tuple[float, float]]:
    """A rolling line across the canvas, in pixels, made of a few sines."""
    parts = [
        (rng.uniform(0.5, 1.0) / (k + 1), rng.uniform(0.6, 1.5) * (k + 1), rng.uniform(0, 6.3)) for k in range(waves)
    ]
    points = []
    for x in range(0, width + 8, 8):
        y = sum(a * math.sin(f * 2 * math.pi * x / width + p) for a, f, p in parts)
        points.append((float(x), base + swing * y))
    return points


def land(image: Image.Image, line: list[tuple[float, float]], top: RGB, bottom: RGB) -> None:
    """Fill everything below the line with a gradient that starts at its highest point."""
    width, height = image.size
    mask = Image.new("L", image.size, 0)
    ImageDraw.Draw(mask).polygon([*line, (width, height), (0, height)], fill=255)
    highest = max(0, int(min(y for _, y in line)))
    image.paste(wash((width, height), ((0.0, top), (highest / height, top), (1.0, bottom))), mask=mask)


def peaks(image: Image.Image, rng: Random, base: float, tall: float, rock: RGB, snow: RGB, count: int = 4) -> None:
    """Mountains with a lit and a shaded side and snow on top."""
    width, _ = image.size
    draw = ImageDraw.Draw(image)
    centres = sorted(((i + rng.uniform(0.1, 0.9)) * width / count, tall * rng.uniform(0.6, 1.0)) for i in range(count))
    for x, height in sorted(centres, key=lambda peak: -peak[1]):
        half = height * rng.uniform(0.75, 1.0)
        top = (x, base - height)
        knee = (x + half * 0.12, base - height * 0.5)
        draw.polygon([(x - half, base), top, knee, (x + half * 0.05, base)], fill=mix(rock, (255, 255, 255), 0.16))
        draw.polygon([top, (x + half, base), (x + half * 0.05, base), knee], fill=mix(rock, (30, 30, 70), 0.22))
        cap = 0.34
        left, right = (x - half * cap, base - height * (1 - cap)), (x + half * cap, base - height * (1 - cap))
        jag = [(x + half * t, base - height * (1 - cap * s)) for t, s in ((0.18, 0.75), (0.02, 1.15), (-0.16, 0.8))]
        draw.polygon([left, top, right, *jag], fill=snow)


def clouds(image: Image.Image, rng: Random, colour: RGB, count: int, low: float, high: float, alpha: int = 150) -> None:
    """Soft clouds between two heights (shares of the canvas), blurred small and enlarged: much cheaper."""
    width, height = image.width // _SOFT, image.height // _SOFT
    mask = Image.new("L", (width, height), 0)
    draw = ImageDraw.Draw(mask)
    for _ in range(count):
        x, y = rng.uniform(0, width), height * rng.uniform(low, high)
        long = width * rng.uniform(0.08, 0.2)
        for _ in range(5):
            dx, dy, r = (
                rng.uniform(-long, long),
                rng.uniform(-long, long) * 0.12,
                long * rng.uniform(0.3, 0.6),
            )
            draw.ellipse((x + dx - r, y + dy - r * 0.45, x + dx + r, y + dy + r * 0.45), fill=alpha)
    _glaze(image, colour, mask.filter(ImageFilter.GaussianBlur(width / 75)))


def halo(image: Image.Image, centre: tuple[float, float], radius: float, colour: RGB, strength: float = 0.8) -> None:
    """Light that fades out around a point; places are shares of the canvas."""
    width, height = image.width // _SOFT, image.height // _SOFT
    x = (np.arange(width) / width - centre[0])[None, :]
    y = (np.arange(height) / height - centre[1])[:, None]
    fade = np.clip(1.0 - np.sqrt(x * x + y * y) / radius, 0.0, 1.0) ** 1.6 * strength * 255
    _glaze(image, colour, Image.fromarray(fade.astype(np.uint8)))


def _glaze(image: Image.Image, colour: RGB, small_mask: Image.Image) -> None:
    mask = small_mask.resize(image.size, Image.Resampling.BILINEAR)
    image.paste(Image.new("RGB", image.size, colour), mask=mask)


def blades(
    image: Image.Image,
    rng: Random,
    low: float,
    high: float,
    colours: Sequence[RGB],
    count: int,
    long: float = 0.02,
) -> None:
    """Short upright strokes, longer and further apart towards the viewer: grass, corn, flowers."""
    width, height = image.size
    draw = ImageDraw.Draw(image)
    for _ in range(count):
        near = rng.random()
        x, y = rng.uniform(0, width), height * (low + (high - low) * near)
        reach = height * long * (0.4 + near)
        lean = rng.uniform(-0.35, 0.35) * reach
        draw.line((x, y, x + lean, y - reach), fill=rng.choice(colours), width=2)


def ripples(image: Image.Image, rng: Random, low: float, high: float, colours: Sequence[RGB], count: int) -> None:
    """Flat strokes that grow towards the viewer: waves, wind on sand, tyre marks on snow."""
    width, height = image.size
    draw = ImageDraw.Draw(image)
    for _ in range(count):
        near = rng.random() ** 1.3
        x, y = rng.uniform(-0.1, 1.0) * width, height * (low + (high - low) * near)
        long, tall = width * (0.02 + 0.09 * near), height * (0.003 + 0.012 * near)
        draw.arc((x, y, x + long, y + tall), 180, 360, fill=rng.choice(colours), width=2 if near < 0.6 else 3)


def dots(
    image: Image.Image, rng: Random, low: float, high: float, colours: Sequence[RGB], count: int, size: float
) -> None:
    """Scattered round specks: stars, pebbles, fallen leaves."""
    width, height = image.size
    draw = ImageDraw.Draw(image)
    for _ in range(count):
        x, y = rng.uniform(0, width), height * rng.uniform(low, high)
        r = width * size * rng.uniform(0.4, 1.0)
        draw.ellipse((x - r, y - r * 0.8, x + r, y + r * 0.8), fill=rng.choice(colours))
