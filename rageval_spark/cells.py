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
    "None": None, "null": None, "nan": None, "NaN": None, "NaT": None, "True": True, "true": True, "False": False,
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
    """Return whether a text is meant as a list, even a broken one, rather than as prose that begins with a bracket.

    Prose: "[1] The museum ...", "[Update] ...", "[Guide](https://...)", "[Applause]". Lists: a bracket and a quoted text,
    followed by a comma, a further quote or the end; a bracket and an object, a list or a call; and a text in brackets that
    holds a comma, as Spark casts an array.
    """
    text = text.strip()
    if NESTED_START.match(text) or OF_SCALA.match(text) or (ROUND_START.match(text) and _ends_with_quote(text)):
        return True
    if not text.startswith("["):
        return False
    if start := QUOTED_START.match(text):
        first_item, follows = start.groups()
        if QUOTED_END.search(text):
            return True
        is_cut = len(first_item) == 1  # an opening quote without a closing one
        return "]" not in text if is_cut else follows in ("", ",", "'", '"')
    return bool(re.match(r"\[[^\[\]]*,\s[^\[\]]*\]$", text))


def _ends_with_quote(text: str) -> bool:
    """Whether a quotation mark stands before the closing bracket at the end, or before a comma there."""
    return text.endswith((")", "}")) and text[:-1].rstrip().removesuffix(",").rstrip().endswith(("'", '"'))


class _Parser:
    """Reads one value. The items of a list are separated by commas, as in Python, or by white space alone, as in numpy.

    Every method raises ValueError saying what cannot be read.
    """

    def __init__(self, text: str):
        self.text = text
        self.position = 0
        self.kind, self.token = "", ""
        self._advance()

    def read(self) -> Any:
        value = self._read_value(0)
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

    def _read_value(self, depth: int) -> Any:
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
            return self._read_wrapped(depth)
        elif token in ("[", "("):
            return self._read_items(depth, "]" if token == "[" else ")")
        elif token == "{":
            return self._read_braces(depth)
        else:
            raise self._error()
        self._advance()
        return value

    def _take(self, mark: str) -> bool:
        """Go past a mark; return whether it was there."""
        if self.kind != "mark" or self.token != mark:
            return False
        self._advance()
        return True

    def _read_items(self, depth: int, end: str) -> list[Any]:
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
                # Without a comma Python joins two texts and numpy keeps them apart: a mix of both could mean either.
                if by_comma is not None and comma != by_comma:
                    raise ValueError("some items are separated by commas and others are not")
                by_comma = comma
            items.append(self._read_value(depth + 1))
        return items

    def _read_braces(self, depth: int) -> Any:
        """Read an object, or a set of Python, which becomes a list."""
        self._advance()
        pairs: dict[Any, Any] = {}
        members: list[Any] = []
        while not self._take("}"):
            if (pairs or members) and not self._take(","):
                raise self._error()
            if (pairs or members) and self._take("}"):
                break
            key = self._read_value(depth + 1)
            if self._take(":") and not members:
                if isinstance(key, (list, dict)):
                    raise ValueError("a key is a list")
                pairs[key] = self._read_value(depth + 1)
            elif pairs:
                raise self._error()
            else:
                members.append(key)
        return members or pairs

    def _read_wrapped(self, depth: int) -> Any:
        self._advance()
        if not self._take("("):
            raise self._error()
        if self._take(")"):
            return []
        value = self._read_value(depth + 1)
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
    return ESCAPE.sub(_unescape_match, text) if "\\" in text else text


def _unescape_match(match: re.Match[str]) -> str:
    for group, base in ((1, 16), (2, 16), (3, 16), (4, 8)):
        if match.group(group):
            code = int(match.group(group), base)
            return chr(code) if code < 0x110000 else match.group()
    character = match.group(5)
    if character in ESCAPES:
        return ESCAPES[character]
    return character if character in "\\'\"" else match.group()  # as Python keeps an unknown escape
