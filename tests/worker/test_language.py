"""The language guess, on captions that say it and captions that do not."""

import pytest

from worker.stages.language import UNKNOWN, guess_language

CAPTIONS = {
    "A dog runs on the beach": "English",
    "Ein Hund läuft mit dem Ball auf der Wiese": "German",
    "Un chien court sur la plage avec une balle": "French",
    "El perro corre por la playa con una pelota": "Spanish",
    "Il cane corre nella spiaggia con gli amici": "Italian",
    "Um cachorro corre na praia com uma bola": "Portuguese",
    "Een hond met een bal op het strand": "Dutch",
    "En hund är på stranden och leker för att det": "Swedish",
    "En hund løber på stranden og leger af og til": "Danish or Norwegian",
    "Pies jest na plaży z piłką i biega": "Polish",
    "Bir köpek ve bir top ile oynuyor": "Turkish",
    "Seekor anjing dengan bola yang merah di pantai": "Indonesian",
    "Собака бежит по пляжу": "Cyrillic script",
    "一只狗在沙滩上奔跑": "Chinese or Japanese (Han)",
    "犬が海辺を走る": "Japanese",
    "개가 해변을 달린다": "Korean",
    "كلب يركض على الشاطئ": "Arabic script",
    "כלב רץ על החוף": "Hebrew",
    "Ένας σκύλος τρέχει": "Greek",
    "สุนัขวิ่งบนชายหาด": "Thai",
    "समुद्र तट पर कुत्ता": "Devanagari script",
}


class TestGuessLanguage:
    @pytest.mark.parametrize(("caption", "expected"), CAPTIONS.items())
    def test_names_the_language_or_the_script(self, caption: str, expected: str) -> None:
        assert guess_language(caption) == expected

    @pytest.mark.parametrize(
        "caption", ["", "IMG_2041.jpg", "Nikon D750", "12 345", "🐈🐈", "la", "Kowalczyk Überraschung"]
    )
    def test_nothing_that_decides_is_unknown(self, caption: str) -> None:
        assert guess_language(caption) == UNKNOWN

    def test_most_letters_decide_the_script(self) -> None:
        assert guess_language("Собака бежит по пляжу with GoPro") == "Cyrillic script"

    def test_an_accent_does_not_leave_the_latin_script(self) -> None:
        assert guess_language("The café at the corner of the street") == "English"
