"""Lists and objects that stand as text in the cell of a table: JSON, the notation of Python, or that of numpy.

Nothing is evaluated. The text is split into tokens by one regular expression, in time linear in its length.
"""

from __future__ import annotations

import json
import re
from typing import Any

MOST_DEPTH = 100
"""How deep lists and objects may be nested."""
TOKEN = re.compile(r"""
    (?P<space>\s+)
  | [uU]?(?P<text>'[^'\\]*(?:\\.[^'\\]*)*'|"[^"\\]*(?:\\.[^"\\]*)*")
  | (?P<number>[-+]?(?:\d+\.?\d*|\.\d+)(?:[eE][-+]?\d+)?(?![\w.]))
  | (?P<elided>\.\.\.)
  | (?P<name>[-+]?[A-Za-z_][\w.]*)
  | (?P<mark>[\[\](){},:=])
""", re.VERBOSE | re.DOTALL)
CONSTANTS = {
    "None": None, "null": None, "nan": None, "NaN": None, "NaT": None, "<NA>": None, "True": True, "true": True, "False": False,
    "false": False, "inf": float("inf"), "Infinity": float("inf"), "-inf": float("-inf"), "-Infinity": float("-inf"),
    "np.nan": None, "np.True_": True, "np.False_": False, "np.inf": float("inf"),
}  # fmt: skip
WRAPPER = re.compile(r"array|list|tuple|set|frozenset|deque|OrderedDict|(?:np|numpy)\.\w+")
"""Names that Python and numpy print around a value: array([...], dtype=object), np.str_('a')."""
ESCAPE = re.compile(r"\\(?:x([0-9a-fA-F]{2})|u([0-9a-fA-F]{4})|U([0-9a-fA-F]{8})|([0-7]{1,3})|(.))", re.DOTALL)
ESCAPES = {"n": "\n", "t": "\t", "r": "\r", "a": "\a", "b": "\b", "f": "\f", "v": "\v", "\n": ""}

QUOTED_START = re.compile(r"""\[\s*[bBuU]?('[^'\\]*(?:\\.[^'\\]*)*'|"[^"\\]*(?:\\.[^"\\]*)*"|['"“‘„«])\s*(.?)""", re.DOTALL)
NESTED_START = re.compile(r"""\[\s*(?:\{\s*(?:['"}]|$)|\[\s*['"{]|[A-Za-z_][\w.]*\()|\(\s*\{\s*['"]|array\(\s*\[""")
"""How a list begins that holds objects, lists, or objects of Python such as Document(page_content='...')."""

ROUND_START = re.compile(r"""[({]\s*[uU]?(?:'[^'\\]*(?:\\.[^'\\]*)*'|"[^"\\]*(?:\\.[^"\\]*)*")\s*(?:,|\}$)""", re.DOTALL)
"""How a tuple or a set of texts begins, as Python prints them and PostgreSQL writes its arrays."""
OF_SCALA = re.compile(r"(?:WrappedArray|ArraySeq|ArrayBuffer)\(.*\)$", re.DOTALL)
"""Lists as Scala prints them, without quotation marks: nobody can say where a text ends."""


def read_cell(text: str) -> Any:
    """Return the value that a text holds in JSON, in the notation of Python, or in that of numpy.

    Raises ValueError saying what cannot be read.
    """
    try:
        return json.loads(text, strict=False)  # line breaks within texts are common in cells
    except ValueError:
        pass
    except RecursionError:
        raise ValueError("it is nested too deeply") from None
    return _Parser(text).read()


def looks_like_list(text: str) -> bool:
    """Whether a text is meant as a list, though it may be broken, and is not prose that begins with a bracket.

    Prose: "[1] The museum ...", "[Update] ...", "[Guide](https://...)", "[Applause]". Lists: what begins with a bracket and a
    quoted text that a comma, a further quote or the end follows; what begins with objects, lists or calls; and brackets
    around the whole text with a comma between, as Spark casts an array.
    """
    text = text.strip()
    if NESTED_START.match(text) or OF_SCALA.match(text) or (ROUND_START.match(text) and _ends_with_quote(text)):
        return True
    if not text.startswith("["):
        return False
    if quoted := QUOTED_START.match(text):
        after = quoted.group(2)
        return (after in ("", ",", "'", '"') if len(quoted.group(1)) > 1 else "]" not in text) or bool(
            re.search(r"""['"”’“»]\s*\]$""", text))
    return bool(re.match(r"\[[^\[\]]*,\s[^\[\]]*\]$", text))


def _ends_with_quote(text: str) -> bool:
    """Whether a quotation mark stands before the closing bracket at the end, or before a comma there."""
    return text.endswith((")", "}")) and text[:-1].rstrip().removesuffix(",").rstrip().endswith(("'", '"'))


class _Parser:
    """Reads one value. Items of a list are separated by commas, as Python does, or by white space alone, as numpy does."""

    def __init__(self, text: str):
        self.text = text
        self.position = 0
        self.kind, self.token = "", ""
        self._advance()

    def read(self) -> Any:
        value = self._value(0)
        if self.kind:
            raise self._error()
        return value

    def _advance(self) -> None:
        while True:
            match = TOKEN.match(self.text, self.position)
            if match is None and self.position < len(self.text):
                raise ValueError(f"unexpected {self.text[self.position:self.position + 20]!r}")
            self.kind = (match.lastgroup or "") if match else ""
            self.token = match.group(self.kind) if match else ""
            self.position = match.end() if match else self.position
            if self.kind != "space":
                return

    def _error(self) -> ValueError:
        if self.kind == "elided":
            return ValueError('it is shortened ("...")')
        return ValueError(f"unexpected {self.token[:20]!r}" if self.kind else "it ends early")

    def _value(self, depth: int) -> Any:
        if depth > MOST_DEPTH:
            raise ValueError("it is nested too deeply")
        kind, token = self.kind, self.token
        if kind == "text":
            value: Any = _unescape(token[1:-1])
        elif kind == "number" and re.match(r"[-+]?0\d", token):
            raise self._error()  # such as the id 007: as a number it would be another
        elif kind == "number":
            value = int(token) if re.fullmatch(r"[-+]?\d{1,4000}", token) else float(token)
        elif kind == "name" and token in CONSTANTS:
            value = CONSTANTS[token]
        elif kind == "name" and WRAPPER.fullmatch(token):
            return self._wrapped(depth)
        elif token in ("[", "("):
            return self._items(depth, "]" if token == "[" else ")")
        elif token == "{":
            return self._braces(depth)
        else:
            raise self._error()
        self._advance()
        return value

    def _take(self, mark: str) -> bool:
        if self.kind != "mark" or self.token != mark:
            return False
        self._advance()
        return True

    def _items(self, depth: int, end: str) -> list[Any]:
        self._advance()
        items: list[Any] = []
        by_comma: bool | None = None
        while not self._take(end):
            if items:
                if not self.kind:
                    raise self._error()
                comma = self._take(",")
                if comma and self._take(end):
                    return items
                # Python joins texts that no comma separates, numpy keeps them apart: mixed, nobody can say.
                if by_comma is not None and comma != by_comma:
                    raise ValueError("some items are separated by commas and others are not")
                by_comma = comma
            items.append(self._value(depth + 1))
        return items

    def _braces(self, depth: int) -> Any:
        self._advance()
        pairs: dict[Any, Any] = {}
        members: list[Any] = []
        while not self._take("}"):
            if (pairs or members) and not self._take(","):
                raise self._error()
            if (pairs or members) and self._take("}"):
                break
            key = self._value(depth + 1)
            if self._take(":") and not members:
                if isinstance(key, (list, dict)):
                    raise ValueError("a key is a list")
                pairs[key] = self._value(depth + 1)
            elif pairs:
                raise self._error()
            else:
                members.append(key)
        return members or pairs

    def _wrapped(self, depth: int) -> Any:
        self._advance()
        if not self._take("("):
            raise self._error()
        if self._take(")"):
            return []
        value = self._value(depth + 1)
        while self._take(","):  # dtype=object and the like
            if self.kind != "name":
                break
            self._advance()
            if not self._take("="):
                raise self._error()
            self._advance()
        if not self._take(")"):
            raise self._error()
        return value


def _unescape(text: str) -> str:
    return ESCAPE.sub(_escaped, text) if "\\" in text else text


def _escaped(match: re.Match[str]) -> str:
    for group, base in ((1, 16), (2, 16), (3, 16), (4, 8)):
        if match.group(group):
            code = int(match.group(group), base)
            return chr(code) if code < 0x110000 else match.group()
    character = match.group(5)
    if character in ESCAPES:
        return ESCAPES[character]
    return character if character in "\\'\"" else match.group()  # Python keeps what is no escape
