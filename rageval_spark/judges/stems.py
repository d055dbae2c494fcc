"""Stems and function words by language, for comparing words."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import cache, lru_cache
from typing import Any

_STEMMERS: Mapping[str, str] = {
    "ar": "arabic", "ca": "catalan", "cs": "czech", "da": "danish", "de": "german", "el": "greek", "es": "spanish",
    "et": "estonian", "fa": "persian", "fi": "finnish", "fr": "french", "hi": "hindi", "hu": "hungarian", "hy": "armenian",
    "id": "indonesian", "it": "italian", "lt": "lithuanian", "ne": "nepali", "nl": "dutch", "no": "norwegian", "pl": "polish",
    "pt": "portuguese", "ro": "romanian", "ru": "russian", "sr": "serbian", "sv": "swedish", "ta": "tamil", "tr": "turkish",
}  # fmt: skip
"""Language → its Snowball algorithm. English has its own rules in `lexical`, with which `support` was fitted."""
_BY_BEGINNING = frozenset({"be", "bg", "hr", "kk", "ky", "lv", "mk", "mn", "sk", "sl", "sq", "uk"})
"""Inflected languages without a stemmer: words with the same first letters count as the same."""
_BEGINNING = 5
"""Letters by which words of these languages are compared."""

_WORDS: Mapping[str, str] = {
    "de": "der die das den dem des ein eine einen einem einer eines und oder aber ist sind war waren wird werden wurde"
          " wurden hat haben hatte kann können soll muss müssen darf nicht kein keine auch nur noch schon so wie was wer wo"
          " wann warum welche welcher welches wieviel viel in im an am auf aus bei beim mit nach von vom zu zum zur für über"
          " unter um durch gegen ohne bis als wenn dass ob es er sie ich du wir ihr man sich mich mir dich dir uns ihm ihn"
          " ihnen sein seine ihre dieser diese dieses da dort hier dann denn doch",
    "fr": "le la les l un une des de du d et ou mais est sont était étaient sera a ont avait peut peuvent doit ne n pas"
          " plus aussi que qu qui quoi quel quelle quels quelles comment où quand pourquoi combien dans en au aux à sur sous"
          " par pour avec sans chez entre il elle ils elles on nous vous je j tu ce c cette ces cet se s son sa ses leur"
          " leurs y",
    "es": "el la los las un una unos unas de del y e o u pero es son era eran está están ser estar ha han había puede"
          " pueden debe no ni también más que qué quien quién cual cuál cuánto cuánta cuántos cuántas cómo como dónde donde"
          " cuándo cuando por para con sin en a al sobre entre hasta desde se su sus lo le les me te nos él ella ellos yo tú"
          " este esta esto ese esa",
    "it": "il lo la i gli le l un uno una di del dello della dei degli delle d e ed o ma è sono era erano ha hanno può"
          " possono deve non né anche più che chi cosa quale quali come dove quando perché quanto quanta quanti quante a al"
          " allo alla ai agli alle in nel nella nei nelle da dal dalla con su sul sulla per tra fra si suo sua suoi questo"
          " questa ci ne",
    "pt": "o a os as um uma uns umas de do da dos das e ou mas é são era eram está estão ser tem têm pode podem deve não"
          " nem também mais que quem qual quais como onde quando porque porquê quanto quanta quantos quantas em no na nos"
          " nas por pelo pela para com sem sobre entre até se seu sua seus suas ele ela eles este esta isso ao aos à às",
    "nl": "de het een en of maar is zijn was waren wordt worden heeft hebben had kan kunnen moet moeten mag niet geen ook"
          " nog al zo hoe wat wie waar wanneer waarom welke hoeveel in op aan uit bij met naar van voor over onder om door"
          " tegen zonder tot als dat dit die deze er hij zij ze ik je we u zich",
    "pl": "i oraz a ale lub albo jest są był była było były będzie ma mają może mogą musi nie też także tylko już jak co"
          " kto gdzie kiedy dlaczego jaki jaka jakie który która które ile w we na do z ze od po za przed nad pod o u przy"
          " dla bez przez się to ten ta te tego tej tych on ona ono oni jego jej ich",
    "cs": "a i ale nebo je jsou byl byla bylo byli bude má mají může mohou musí ne není také jen už jak co kdo kde kdy proč"
          " jaký jaká jaké který která které kolik v ve na do z ze od po za před nad pod o u při pro bez přes se si to ten"
          " ta tento on ona jeho",
    "ru": "и а но или в во на с со к ко у о об от до из за по под над при для без через не ни же ли бы это этот эта эти тот"
          " та те как что кто где когда почему какой какая какие который сколько он она оно они его её их я ты мы вы есть"
          " был была было были будет может могут также только уже",
    "uk": "і й та а але або в у на з із зі до від за по під над при для без через не ні це цей ця ці той як що хто де коли"
          " чому який яка які скільки він вона воно вони його її їх я ти ми ви є був була було були буде може можуть також"
          " тільки вже",
    "sv": "en ett den det de och eller men är var blir har hade kan ska måste får inte också bara hur vad vem var när"
          " varför vilken vilket vilka i på av till från med för om under över utan att som man han hon sig sin sitt",
    "tr": "ve veya ile ama bir bu şu o da de mi mı mu mü ne kim nerede zaman neden nasıl hangi kaç kadar için gibi daha en"
          " çok değil var yok olan olarak",
}  # fmt: skip


@cache
def function_words(language: str) -> frozenset[str]:
    """Return the function words of a language, such as articles and pronouns; none for a language without a list."""
    return frozenset(_WORDS.get(language, "").split())


@lru_cache(maxsize=50_000)
def stem(word: str, language: str) -> str:
    """Return the stem of a word in lower case, in a language other than English."""
    if stemmer := _stemmer(language):
        return stemmer(word)
    return word[:_BEGINNING] if language in _BY_BEGINNING else word


@cache
def _stemmer(language: str) -> Callable[[str], str] | None:
    if language not in _STEMMERS:
        return None
    import snowballstemmer  # loaded only if texts in other languages than English are compared

    algorithm: Any = snowballstemmer.stemmer(_STEMMERS[language])
    return lambda word: str(algorithm.stemWord(word))
