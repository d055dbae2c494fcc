"""Entities: the things that a text names."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar

from rageval_spark.errors import JudgeFault
from rageval_spark.prompts import length
from rageval_spark.prompts.prompt import Id, Prompt, ReplyModel, ReplyText, Text


class Entity(ReplyModel):
    id: Id
    name: ReplyText


class Entities(ReplyModel):
    entities: list[Entity]


@dataclass(frozen=True)
class ListEntities(Prompt):
    """The entities that a text, or the contexts, name; its value is their names in order, blanks left out."""

    kind: ClassVar[str] = "list_entities"
    deciding: ClassVar[bool] = False
    model: ClassVar[type[ReplyModel]] = Entities
    wording: ClassVar[Mapping[str, str]] = {
        "en": """\
List the entities that "{source}" names.

Definition: an entity is something particular with a name or an exact value: a person, organisation, place, product, work, event, law, date, amount or measure.

Rules:
1. Write each entity once, as it stands in the text, without article and without words around it.
2. General words ("the company", "water", "a city") and pronouns are none.
3. An amount or date is written with its unit or year where the text gives it.
4. Add nothing that is not in the text, and do not translate.

Good: "Dorman Long built the bridge in May 1932 for 4.2 million pounds." gives "Dorman Long", "May 1932", "4.2 million pounds".
Bad for that text: "the bridge" (no name), "Sydney" (not in the text), "1932" and "May" (one date in two).

If there are none, the list is empty. Number them from 1.""",
        "zh": """\
列出 "{source}" 中提到的全部实体。

定义：实体是有名称或确切数值的特定事物：人物、组织、地点、产品、作品、事件、法律、日期、金额或度量。

规则：
1. 每个实体只写一次，按文中写法，不带修饰语和前后词语。
2. 泛指的词（“公司”“水”“城市”）和代词不是实体。
3. 金额和日期连同文中给出的单位或年份一起写。
4. 不添加文中没有的内容，也不翻译。

正确：“多门朗公司于1932年5月以420万英镑建成大桥。”得到“多门朗公司”“1932年5月”“420万英镑”。
错误：对同一文本写成“大桥”（没有名称）、“悉尼”（文中没有）、“1932年”和“5月”（把一个日期拆成两个）。

如果没有实体，列表为空。从 1 开始编号。""",
    }

    text: str | None = None
    contexts: tuple[Text, ...] = ()

    def data(self) -> dict[str, Any]:
        return {"contexts": self.contexts} if self.text is None else {"text": self.text}

    def fill_in(self, language: str) -> Mapping[str, str]:
        return {"source": "contexts" if self.text is None else "text"}

    def value(self, reply: Mapping[str, Any]) -> tuple[str, ...]:
        return tuple(entity["name"] for entity in reply["entities"] if entity["name"].strip())

    def merge(self, replies: Sequence[dict[str, Any]]) -> dict[str, Any]:
        names = [entity["name"] for reply in replies for entity in reply["entities"]]
        return {"entities": [{"id": id, "name": name} for id, name in enumerate(names, 1)]}

    def halves(self) -> Sequence[Prompt]:
        middle = len(self.contexts) // 2
        return [replace(self, contexts=half) for half in (self.contexts[:middle], self.contexts[middle:])] if middle else ()

    def divide(self, token_limit: int) -> Sequence[Prompt]:
        whole = self.contexts if self.text is None else ((1, self.text),)
        groups, split = length.packed(whole, length.room(token_limit))
        return [replace(self, context_split=split, **({"contexts": group} if self.text is None else {"text": group[0][1]}))
                for group in groups]

    def join(self, parts: Sequence[Any], answers: Sequence[Any]) -> tuple[str, ...]:
        for answer in answers:
            if isinstance(answer, JudgeFault):
                raise answer
        return tuple(name for answer in answers for name in answer)
