"""Which sentences decline to answer, by the phrases they are made of, in English and Chinese."""

from __future__ import annotations

import re

from rageval_spark.judges.lexical import LEAST_WORDS, wording
from rageval_spark.prompts.language import sentences

_NOT = (r"(?:do not|don't|did not|didn't|cannot|can't|can not|could not|couldn't|won't|will not"
        r"|(?:am|are|was|were) (?:not able|unable) to)")
_DOES_NOT = r"(?:(?:do|does|did) not|(?:do|does|did)n't|fails? to)"
_IS_NOT = r"(?:(?:is|are|was|were) (?:not|no)|(?:is|are|was|were)n't)"
_ADVERB = r"(?:\w+ )?"
_CLEARLY_ZH = "(?:明确|具体|直接|详细|准确)?"
REFUSES = re.compile(
    r"\b(?:(?:i|we)(?:'m| am| are|'re)? (?:(?:really |very |so )?sorry|unable|not able|afraid)|i apologi[sz]e"
    r"|i(?:'m| am) not (?:\w+ )?(?:sure|certain)|(?:must|have to) decline|decline to (?:answer|comment|say)"
    r"|i(?:'d| would) rather not"
    rf"|i {_NOT} {_ADVERB}(?:know|have|find|answer|tell|say|see|determine|provide|locate|help|confirm|verify|explain|advise"
    r"|assist|comment|share|disclose|discuss|identify|recommend|give|offer|access|respond|specify)"
    rf"|we {_NOT} {_ADVERB}(?:know|find|answer|tell|say|determine|confirm|verify|comment)"
    rf"|{_DOES_NOT} {_ADVERB}(?:mention|say|state|specify)"
    rf"|(?:documents?|contexts?|passages?|texts?|articles?|sources?|information) {_DOES_NOT} {_ADVERB}indicate"
    rf"|{_IS_NOT} {_ADVERB}(?:mentioned|stated|specified|indicated|discussed)"
    r"|^\W*(?:(?:based on|from|according to|given|in|however|unfortunately|therefore)\b[^,]*,? )?"
    r"it(?:'s| is) (?:unclear|unknown|not (?:clear|known))"
    r"|(?:no|insufficient|not enough) (?:\w+ ){0,2}(?:information|context|details|answer|mention)"
    r"|unable to (?:answer|find|determine|provide|say|tell|confirm|verify|help|assist)"
    r"|(?:cannot|can't|can not|could not) be (?:answered|determined)"
    r"|not possible to (?:answer|determine|say|tell|confirm)"
    r"|(?:outside|beyond) (?:of )?(?:my|the scope)|nothing (?:is said |is stated )?(?:about|on) (?:this|that|it))\b"
    r"|^\W*not (?:\w+ )?(?:mentioned|stated|specified|given|provided|found|available|known)\b"
    r"|^\W*(?:n/a|unanswerable|no answer|idk)\W*$"
    r"|(?:无法|不能|没法|难以)(?:(?:根据|基于|依据|从|由|就|对|为|给|直接|准确|明确)[^，。；！？,;!?]{0,24})?(?:回答|作答|确定|判断|得知|找到|确认|知道)"
    r"|我们?(?:暂时|目前|还)?(?:无法|不能|没法|不便)(?:[为给对向]\w{1,4})?(?:提供|给出|帮助|协助|透露|解答|解释|告知|告诉)"
    rf"|(?:^\W*|我们?|[，,]|对[^，。,]{{1,16}})[并还也]?(?:暂时|目前|实在)?不(?:太|大|是很)?(?:知道|清楚|了解)"
    rf"|不(?:知道|清楚|确定|详)\W*$|无可奉告|不便(?:回答|透露)|拒绝回答|(?:没有|未|未能){_CLEARLY_ZH}(?:找到|提及|提到|说明|给出|写明|指出|交代|记载)"
    r"|(?:没有|暂无|尚无|缺乏|缺少)(?:相关|足够|任何|具体|这方面|关于[^，。；！？,;!?]{1,24})?的?(?:信息|资料|内容|答案)"
    r"|(?:信息|资料|内容|材料)(?:不足|不够|有限)|超出(?:了)?[^，。；！？,;!?]{0,8}(?:范围|知识)|抱歉|对不起",
    re.I,
)
"""What a sentence says that declines to answer."""
LACKS = re.compile(
    rf"\b(?:{_DOES_NOT} {_ADVERB}(?:contain|provide|include|cover|give|offer|describe|explain|list|answer|allow|tell"
    r"|address|discuss|have (?:\w+ ){0,2}(?:information|details|data|answers?))"
    rf"|we {_NOT} {_ADVERB}(?:have|see|provide|locate|help|give|offer)"
    r"|lacks|(?:documents|contexts|passages|texts|sources) lack|silent (?:on|about)|(?:cannot|can't|could not) be found"
    rf"|{_IS_NOT} {_ADVERB}(?:given|provided|available|enough|sufficient|information|included|covered|found|listed|described))\b"
    r"|(?:没有|未|并未|不)(?:提供|包含|涉及|包括|介绍|讨论|描述|列出|显示)|(?:无法|不能|没法)(?:提供|给出)",
    re.I,
)
"""What declines only where it is said of a source: "does not include breakfast" is an answer."""
SOURCES = re.compile(
    r"\b(?:documents?|documentation|contexts?|passages?|texts?|articles?|sources?|materials?|information|details|excerpts?"
    r"|content|handbook|manual|results|data|page|snippets?|paragraphs?|knowledge base|answers?|question)\b"
    r"|文档|资料|文件|文中|文章|文本|材料|上下文|手册|内容|信息|原文|段落|知识库|来源|答案",
    re.I,
)
TURNS = re.compile(r"\b(?:but|however|though|although|yet)\b|但是?|不过|然而", re.I)
ASKS = re.compile(r"[?？][\"'”’)\]」』]*$")
OFFERS = re.compile(r"\b(?:please|let me know|feel free|happy to help|contact|you (?:can|could|may|might) "
                    r"(?:ask|check|consult))\b|请|欢迎", re.I)


def declines(sentence: str) -> bool:
    """Whether a sentence declines, and says nothing else after a "but"."""
    plain = sentence.replace("’", "'")
    if not (said := REFUSES.search(plain)) and not (SOURCES.search(plain) and (said := LACKS.search(plain))):
        return False
    assert said is not None
    rest = TURNS.split(plain[said.end():], maxsplit=1)
    return len(rest) < 2 or _says_nothing(rest[1]) or declines(rest[1])


def refused(text: str) -> bool:
    """Whether one sentence declines and the others only ask, offer help or say next to nothing."""
    declining = [declines(one) for one in sentences(text)]
    return any(declining) and all(no or _says_nothing(one) for no, one in zip(declining, sentences(text), strict=True))


def _says_nothing(sentence: str) -> bool:
    return bool(ASKS.search(sentence) or OFFERS.search(sentence)) or len(wording(sentence).content) < LEAST_WORDS
