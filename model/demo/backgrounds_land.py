"""Painters of the backgrounds on land: each fills a fresh canvas of the given size."""

from random import Random

from PIL import Image, ImageDraw

from model.demo.palette import RGB, darker, lighter
from model.demo.washes import blades, clouds, dots, halo, land, peaks, ridge, ripples, wash


def meadow(size: int, rng: Random) -> Image.Image:
    image = wash((size, size), ((0.0, (96, 178, 240)), (0.5, (196, 232, 252)), (1.0, (220, 240, 240))))
    clouds(image, rng, (255, 255, 255), 4, 0.05, 0.35)
    land(image, ridge(rng, size, size * 0.55, size * 0.03), (150, 206, 130), (120, 190, 100))
    land(image, ridge(rng, size, size * 0.62, size * 0.025), (124, 200, 84), (66, 150, 56))
    blades(image, rng, 0.66, 1.0, ((60, 140, 52), (150, 214, 96), (92, 176, 70)), 420)
    dots(image, rng, 0.7, 0.98, ((255, 255, 255), (255, 226, 90)), 26, 0.006)
    return image


def mountains(size: int, rng: Random) -> Image.Image:
    image = wash((size, size), ((0.0, (120, 170, 226)), (0.5, (214, 230, 246)), (1.0, (214, 230, 246))))
    clouds(image, rng, (255, 255, 255), 3, 0.05, 0.25, 110)
    peaks(image, rng, size * 0.6, size * 0.36, (150, 160, 190), (244, 248, 255), 5)
    peaks(image, rng, size * 0.6, size * 0.5, (108, 118, 156), (252, 253, 255), 3)
    lake = [(0.0, size * 0.6), (float(size), size * 0.6)]
    land(image, lake, (136, 184, 216), (70, 130, 180))
    ripples(image, rng, 0.62, 0.8, ((196, 224, 240), (100, 150, 196)), 46)
    land(image, ridge(rng, size, size * 0.8, size * 0.02), (98, 138, 84), (58, 96, 60))
    blades(image, rng, 0.82, 1.0, ((74, 112, 66), (126, 166, 100)), 200)
    dots(image, rng, 0.84, 0.98, ((150, 152, 156), (120, 124, 130)), 14, 0.012)
    return image


def desert(size: int, rng: Random) -> Image.Image:
    image = wash((size, size), ((0.0, (92, 186, 226)), (0.5, (250, 226, 176)), (1.0, (250, 220, 160))))
    land(image, ridge(rng, size, size * 0.52, size * 0.035, 2), (236, 178, 104), (226, 160, 86))
    land(image, ridge(rng, size, size * 0.6, size * 0.045, 2), (244, 196, 116), (222, 150, 74))
    land(image, ridge(rng, size, size * 0.76, size * 0.03, 2), (248, 206, 128), (226, 158, 82))
    ripples(image, rng, 0.66, 1.0, ((212, 140, 68), (255, 224, 156)), 90)
    return image


def snow(size: int, rng: Random) -> Image.Image:
    image = wash((size, size), ((0.0, (164, 186, 216)), (0.55, (226, 234, 246)), (1.0, (236, 242, 250))))
    for base, tone in ((0.57, (150, 176, 200)), (0.6, (118, 150, 176))):
        draw = ImageDraw.Draw(image)
        for _ in range(26):
            x, tall = rng.uniform(0, size), size * rng.uniform(0.04, 0.1)
            foot = size * (base + 0.03)
            draw.polygon([(x - tall * 0.3, foot), (x, foot - tall), (x + tall * 0.3, foot)], fill=tone)
    land(image, ridge(rng, size, size * 0.6, size * 0.015), (246, 250, 255), (222, 234, 250))
    land(image, ridge(rng, size, size * 0.72, size * 0.025), (252, 254, 255), (204, 220, 242))
    ripples(image, rng, 0.7, 1.0, ((190, 208, 234), (255, 255, 255)), 50)
    return image


def city(size: int, rng: Random) -> Image.Image:
    image = wash((size, size), ((0.0, (150, 192, 226)), (0.6, (236, 228, 220)), (1.0, (236, 228, 220))))
    draw = ImageDraw.Draw(image)
    tones: tuple[RGB, ...] = (
        (186, 140, 126),
        (150, 156, 176),
        (204, 176, 140),
        (132, 140, 160),
        (170, 120, 110),
    )
    for layer, (low, high, fade) in enumerate(((0.16, 0.4, 0.5), (0.26, 0.52, 0.0))):
        x = -size * rng.uniform(0.0, 0.06)
        while x < size:
            wide, top = size * rng.uniform(0.1, 0.17), size * rng.uniform(low, high)
            tone = lighter(rng.choice(tones), fade)
            draw.rectangle((x, top, x + wide, size * 0.72), fill=tone, outline=darker(tone, 0.3), width=2)
            step = size * 0.032
            rows, columns = int((size * 0.66 - top) / step), int(wide / step)
            for row in range(1, rows):
                for column in range(columns):
                    lit = (255, 226, 140) if rng.random() < 0.3 else darker(tone, 0.35)
                    wx, wy = x + step * (column + 0.4), top + step * row - step * 0.4
                    if layer:
                        draw.rectangle((wx, wy, wx + step * 0.5, wy + step * 0.55), fill=lit)
            x += wide
    draw.rectangle((0, size * 0.7, size, size * 0.76), fill=(196, 190, 186))
    draw.rectangle((0, size * 0.76, size, size), fill=(92, 94, 104))
    draw.line((0, size * 0.76, size, size * 0.76), fill=(150, 148, 150), width=5)
    for x in range(-20, size, size // 5):
        draw.rectangle((x, size * 0.9, x + size * 0.1, size * 0.915), fill=(236, 226, 190))
    return image


def forest(size: int, rng: Random) -> Image.Image:
    image = wash((size, size), ((0.0, (34, 84, 62)), (0.55, (120, 168, 104)), (1.0, (70, 110, 60))))
    halo(image, (0.5, 0.35), 0.6, (214, 232, 150), 0.7)
    for layer, bark in enumerate(((96, 122, 86), (70, 84, 60), (52, 50, 42))):
        draw = ImageDraw.Draw(image)
        for _ in range(7 + 2 * (2 - layer)):
            x, wide = rng.uniform(0, size), size * (0.012 + 0.014 * layer) * rng.uniform(0.8, 1.3)
            foot = size * (0.62 + 0.05 * layer)
            draw.polygon([(x - wide, foot), (x - wide * 0.6, 0), (x + wide * 0.6, 0), (x + wide, foot)], fill=bark)
        clouds(image, rng, lighter((30, 78 - 8 * layer, 48), 0.1 * (2 - layer)), 9, -0.05, 0.16, 230)
    land(image, ridge(rng, size, size * 0.7, size * 0.015), (84, 120, 58), (42, 74, 38))
    blades(image, rng, 0.72, 1.0, ((56, 98, 46), (118, 156, 74), (40, 76, 40)), 300)
    return image


def autumn(size: int, rng: Random) -> Image.Image:
    image = wash((size, size), ((0.0, (206, 214, 220)), (0.5, (250, 228, 190)), (1.0, (240, 200, 140))))
    for layer, low in enumerate((0.42, 0.47)):
        draw = ImageDraw.Draw(image)
        for _ in range(16):
            x, y, r = rng.uniform(0, size), size * (low + rng.uniform(0, 0.06)), size * rng.uniform(0.05, 0.1)
            tone = rng.choice(((206, 92, 40), (226, 140, 44), (178, 58, 40), (236, 178, 66)))
            draw.line((x, y, x, size * 0.64), fill=(96, 66, 50), width=5)
            draw.ellipse((x - r, y - r, x + r, y + r), fill=lighter(tone, 0.35 * (1 - layer)))
    land(image, ridge(rng, size, size * 0.61, size * 0.015), (196, 132, 58), (132, 84, 40))
    leaves = ((214, 84, 36), (238, 156, 48), (176, 50, 36), (246, 200, 84), (150, 96, 46))
    dots(image, rng, 0.63, 1.0, leaves, 330, 0.009)
    return image


def lavender(size: int, rng: Random) -> Image.Image:
    image = wash((size, size), ((0.0, (150, 196, 246)), (0.5, (246, 224, 240)), (1.0, (240, 220, 240))))
    clouds(image, rng, (255, 250, 252), 3, 0.06, 0.3, 130)
    land(image, ridge(rng, size, size * 0.53, size * 0.025), (150, 170, 190), (140, 160, 170))
    land(image, [(0.0, size * 0.58), (float(size), size * 0.58)], (160, 124, 206), (118, 74, 178))
    draw = ImageDraw.Draw(image)
    middle = size * rng.uniform(0.35, 0.65)
    for row in range(-9, 10):
        near, far = middle + row * size * 0.2, middle + row * size * 0.028
        draw.line((far, size * 0.58, near, size), fill=(86, 110, 84), width=6)
    blades(image, rng, 0.62, 1.0, ((140, 92, 204), (184, 146, 232), (106, 60, 168)), 650, 0.03)
    return image
