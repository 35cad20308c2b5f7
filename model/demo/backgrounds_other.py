"""Painters of the backgrounds of water, weather and sky: each fills a fresh canvas of the given size."""

from random import Random

from PIL import Image, ImageDraw

from model.demo.palette import mix
from model.demo.washes import blades, clouds, dots, halo, land, ridge, ripples, wash


def sea(size: int, rng: Random) -> Image.Image:
    image = wash((size, size), ((0.0, (84, 166, 236)), (0.5, (206, 236, 252)), (1.0, (206, 236, 252))))
    clouds(image, rng, (255, 255, 255), 4, 0.08, 0.36, 130)
    for base, top, bottom in (
        (0.48, (86, 168, 214), (60, 140, 200)),
        (0.58, (52, 138, 200), (36, 112, 184)),
        (0.7, (36, 118, 188), (22, 84, 158)),
        (0.84, (26, 96, 168), (14, 62, 132)),
    ):
        land(image, ridge(rng, size, size * base, size * 0.008 * (1 + 3 * (base - 0.48)), 4), top, bottom)
    ripples(image, rng, 0.5, 1.0, ((190, 228, 246), (110, 186, 226), (235, 247, 252)), 120)
    return image


def beach(size: int, rng: Random) -> Image.Image:
    image = wash((size, size), ((0.0, (70, 180, 238)), (0.42, (196, 238, 250)), (1.0, (196, 238, 250))))
    clouds(image, rng, (255, 255, 255), 3, 0.05, 0.28, 130)
    land(image, [(0.0, size * 0.42), (float(size), size * 0.42)], (34, 158, 196), (110, 222, 216))
    ripples(image, rng, 0.44, 0.62, ((200, 244, 244), (60, 180, 206)), 50)
    shore = ridge(rng, size, size * 0.64, size * 0.018)
    land(image, [(x, y - size * 0.014) for x, y in shore], (250, 254, 252), (250, 254, 252))
    land(image, shore, (234, 206, 150), (250, 226, 172))
    land(image, [(x, y + size * 0.035) for x, y in shore], (248, 224, 168), (240, 208, 146))
    dots(image, rng, 0.7, 1.0, ((222, 186, 128), (255, 240, 200), (206, 170, 120)), 130, 0.004)
    dots(image, rng, 0.74, 0.98, ((250, 170, 150), (255, 250, 240)), 7, 0.01)
    return image


def underwater(size: int, rng: Random) -> Image.Image:
    image = wash((size, size), ((0.0, (70, 204, 226)), (0.45, (24, 132, 188)), (1.0, (10, 62, 122))))
    rays = Image.new("L", image.size, 0)
    draw = ImageDraw.Draw(rays)
    for _ in range(6):
        x, wide, lean = rng.uniform(0, size), size * rng.uniform(0.03, 0.08), size * rng.uniform(0.05, 0.3)
        draw.polygon([(x, 0), (x + wide, 0), (x + wide * 2.4 + lean, size), (x + lean, size)], fill=34)
    image.paste(Image.new("RGB", image.size, (210, 255, 255)), mask=rays)
    land(image, ridge(rng, size, size * 0.84, size * 0.02), (120, 146, 150), (92, 112, 128))
    draw = ImageDraw.Draw(image)
    for _ in range(15):
        x, tall, sway = rng.uniform(0, size), size * rng.uniform(0.06, 0.2), rng.uniform(-0.03, 0.03) * size
        tone = rng.choice(((40, 140, 100), (30, 112, 96), (226, 96, 110), (236, 140, 96)))
        foot = size * rng.uniform(0.86, 1.0)
        draw.line(
            (x, foot, x + sway, foot - tall * 0.5, x - sway * 0.4, foot - tall),
            fill=tone,
            width=6,
            joint="curve",
        )
    dots(image, rng, 0.86, 1.0, ((164, 172, 164), (78, 96, 112)), 40, 0.007)
    return image


def sunset(size: int, rng: Random) -> Image.Image:
    sky = (
        (0.0, (96, 52, 130)),
        (0.22, (210, 74, 112)),
        (0.42, (252, 140, 74)),
        (0.54, (255, 208, 104)),
        (1.0, (255, 208, 104)),
    )
    image = wash((size, size), sky)
    where = rng.uniform(0.25, 0.75)
    halo(image, (where, 0.52), 0.5, (255, 232, 150), 0.85)
    clouds(image, rng, (196, 70, 110), 4, 0.12, 0.36, 120)
    draw = ImageDraw.Draw(image)
    r = size * 0.075
    draw.ellipse((where * size - r, size * 0.5 - r, where * size + r, size * 0.5 + r), fill=(255, 240, 190))
    land(image, [(0.0, size * 0.54), (float(size), size * 0.54)], (240, 130, 84), (110, 46, 104))
    draw = ImageDraw.Draw(image)
    for step in range(14):
        y, half = size * (0.55 + 0.018 * step), size * rng.uniform(0.02, 0.05 + 0.005 * step)
        draw.line((where * size - half, y, where * size + half, y), fill=(255, 222, 140), width=3)
    ripples(image, rng, 0.56, 0.8, ((255, 176, 110), (150, 62, 104)), 50)
    land(image, ridge(rng, size, size * 0.81, size * 0.02), (84, 44, 74), (44, 24, 54))
    blades(image, rng, 0.83, 1.0, ((60, 32, 62), (120, 62, 84)), 150)
    return image


def night(size: int, rng: Random) -> Image.Image:
    image = wash((size, size), ((0.0, (10, 14, 52)), (0.4, (34, 42, 104)), (0.62, (84, 82, 150)), (1.0, (60, 60, 120))))
    clouds(image, rng, (90, 84, 160), 3, 0.1, 0.4, 60)
    dots(image, rng, 0.0, 0.56, ((255, 255, 240), (200, 214, 255), (255, 236, 180)), 120, 0.0045)
    draw = ImageDraw.Draw(image)
    for _ in range(9):
        x, y, r = rng.uniform(0, size), rng.uniform(0, size * 0.45), size * rng.uniform(0.008, 0.014)
        for dx, dy in ((r, 0), (0, r)):
            draw.line((x - dx, y - dy, x + dx, y + dy), fill=(255, 250, 220), width=3)
    land(image, ridge(rng, size, size * 0.58, size * 0.035), (40, 48, 92), (30, 36, 74))
    land(image, ridge(rng, size, size * 0.7, size * 0.02), (30, 52, 74), (14, 26, 46))
    blades(image, rng, 0.73, 1.0, ((40, 70, 86), (18, 34, 54)), 240)
    return image


def rain(size: int, rng: Random) -> Image.Image:
    image = wash((size, size), ((0.0, (86, 96, 110)), (0.5, (166, 176, 184)), (1.0, (150, 160, 164))))
    clouds(image, rng, (66, 74, 90), 9, -0.03, 0.22, 210)
    clouds(image, rng, (120, 130, 142), 5, 0.1, 0.3, 120)
    land(image, ridge(rng, size, size * 0.58, size * 0.025), (122, 140, 136), (110, 128, 122))
    land(image, ridge(rng, size, size * 0.66, size * 0.015), (106, 130, 100), (70, 92, 76))
    draw = ImageDraw.Draw(image)
    for _ in range(8):
        x, y = rng.uniform(0, size), size * rng.uniform(0.72, 0.97)
        wide = size * rng.uniform(0.05, 0.13)
        draw.ellipse((x - wide, y - wide * 0.16, x + wide, y + wide * 0.16), fill=(150, 170, 184))
        draw.arc(
            (x - wide * 0.5, y - wide * 0.08, x + wide * 0.4, y + wide * 0.08),
            0,
            360,
            fill=(206, 220, 228),
            width=2,
        )
    blades(image, rng, 0.7, 1.0, ((84, 108, 84), (124, 146, 114)), 160)
    return image


def space(size: int, rng: Random) -> Image.Image:
    image = wash((size, size), ((0.0, (8, 6, 26)), (0.5, (22, 12, 52)), (1.0, (10, 8, 30))))
    for tone in ((120, 40, 140), (30, 80, 160), (160, 50, 110)):
        halo(image, (rng.random(), rng.random()), rng.uniform(0.3, 0.55), tone, 0.6)
    stars = ((255, 255, 255), (200, 216, 255), (255, 230, 190))
    dots(image, rng, 0.0, 1.0, tuple(mix(star, (30, 20, 60), 0.4) for star in stars), 130, 0.003)
    dots(image, rng, 0.0, 1.0, stars, 70, 0.006)
    return image
