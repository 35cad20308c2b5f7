"""Content words of captions in languages the grammar does not know: dictionary forms, function words left out."""

import re
import unicodedata
from functools import lru_cache

import simplemma

from model.elements.element import Element
from model.elements.stop_words import word_set

_MOST_CHARACTERS, _MOST_ELEMENTS, _LONGEST_WORD = 4_000, 40, 40
_REMEMBERED = 100_000
_WORD = re.compile(r"[^\W\d_]+(?:[-'’][^\W\d_]+)*")
_OTHER_CODES = {"no": "nb", "hr": "hbs", "sr": "hbs", "bs": "hbs", "sh": "hbs", "fil": "tl"}  # as simplemma names them
# Articles, prepositions, conjunctions, auxiliaries and pronouns of three letters and more; shorter words go anyway.
_FUNCTION_WORDS = {
    "de": "der die das den dem des ein eine einen einem einer eines und oder mit auf aus bei für von vom vor zum zur "
    "nach über unter neben zwischen durch gegen ohne ist sind wird werden hat haben war sich sein seine ihr ihre ihrem "
    "ihren seinem seinen dass als wie auch nicht nur sehr noch während einige mehrere sie wir ich man dieser diese",
    "fr": "les des une dans sur avec sans sous pour par est sont qui que dont mais aux ses son leur leurs cette ces "
    "comme pas plus très chez entre vers elle ils elles lui tout tous être ont deux trois devant derrière",
    "es": "los las una unos unas con sin por para sobre entre hacia desde está están son que del como más muy pero sus "
    "este esta estos estas ser hay ella ellos junto ante tras mientras",
    "it": "gli una uno con senza per sul sulla sulle sui nel nella nelle nei dal dalla del della delle dei degli che "
    "sono sta stanno come più molto tra fra loro suo sua suoi sue mentre alla alle agli allo",
    "pt": "uma uns umas com sem por para sobre entre está estão são que dos das nos nas pela pelo como mais muito mas "
    "seu sua seus suas este esta ela eles enquanto junto",
    "nl": "het een van met voor naar door bij aan uit over onder tussen tegen zonder die dat deze dit zijn haar hun "
    "wordt worden heeft hebben was niet ook nog als maar terwijl achter naast twee",
    "sv": "och ett den det som med för från till mot över under mellan utan har han hon sin sitt sina deras inte också "
    "medan bakom framför bredvid",
    "pl": "jest się dla przez nad pod przed przy bez oraz lub ale jak który która które ich jego jej podczas",
    "ru": "что как для при над под перед без или его она они это который которая которые около между через",
}


class ContentWords:
    """Every word that is no function word, as an element without attributes or count."""

    name = "content words"

    def __init__(self, language: str) -> None:
        code = re.split(r"[-_]", language.lower(), maxsplit=1)[0]
        code = _OTHER_CODES.get(code, code)
        self._stopped = word_set(_FUNCTION_WORDS.get(code, ""))
        self._code = code if _is_known(code) else None

    def elements(self, caption: str) -> list[Element]:
        found: dict[str, Element] = {}
        for match in _WORD.finditer(caption, 0, _MOST_CHARACTERS):
            word = match[0][:_LONGEST_WORD]
            if self._is_function_word(word.lower()):
                continue
            lemma = _lemma(word, self._code)
            found.setdefault(
                lemma, Element(lemma, lemma, (), None, match.start(), match.start() + len(word), is_name=False)
            )
            if len(found) == _MOST_ELEMENTS:
                break
        return list(found.values())

    def _is_function_word(self, word: str) -> bool:
        """One letter of Chinese or Japanese can be a word; two of an alphabet seldom name a thing."""
        return word in self._stopped or (len(word) < 3 and unicodedata.category(word[0]) == "Ll")


@lru_cache(_REMEMBERED)
def _lemma(word: str, code: str | None) -> str:
    return (simplemma.lemmatize(word, lang=code) if code else word).lower()


def _is_known(code: str) -> bool:
    try:
        simplemma.lemmatize("a", lang=code)
    except ValueError:
        return False
    return True
