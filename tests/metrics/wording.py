"""Texts to compare word by word: one in each script, plain English, and anything."""

from __future__ import annotations

from typing import Any

from hypothesis import strategies as st

from rageval_spark.metric import Metric
from rageval_spark.score import Score
from tests.playing import played

SCRIPTS = {
    "English": "The refund is paid within 30 days.",
    "German": "Die Größe der Maße prüft Jürgen täglich.",
    "Thai": "สวัสดี",
    "Lao": "ສະບາຍດີ",
    "Khmer": "សួស្តី",
    "Chinese": "蓝藻在七月大量繁殖。湖水变绿。",
    "Japanese": "返金は30日以内に行われます。",
    "Korean": "환불은 30일 이내에 지급됩니다.",
    "Arabic": "يتم دفع المبلغ خلال ٣٠ يومًا.",
    "Hindi": "नमस्ते दुनिया",
    "emoji": "👍🏽 🦊❤️",
}
VOCABULARY = ["the", "a", "an", "paris", "France", "refunds", "refund", "paying", "paid", "is", "Is", "of", "30", "days,", "day.",
              "Days!", "it's", "well-known", "(in)", "\n", ""]

english = st.lists(st.sampled_from(VOCABULARY), min_size=1, max_size=25).map(" ".join)
characters = st.sampled_from("".join(SCRIPTS.values()) + "aAbc \n.!?-$_\u200b")
anything = st.text(alphabet=characters, max_size=40) | st.text(max_size=30)


def compared(metric: Metric, response: Any, reference: Any, **fields: Any) -> Score:
    score, asked = played(metric, {"response": response, "reference": reference, **fields})
    assert asked == []
    return score
