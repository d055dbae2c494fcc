"""What characters and common words tell of a text: its language, its script, its sentences."""

from __future__ import annotations

import subprocess
import sys

import pytest

from rageval_spark.prompts.detection import detect_language, language_name, prompt_language, script
from rageval_spark.prompts.language import normalised, sentences, word_tokens
from rageval_spark.prompts.rendering import Rendering


@pytest.mark.parametrize(
    ("text", "worded_in", "named", "written_in"),
    [
        ("What is the capital of France?", "en", "English", "Latin"),
        ("Wie hoch ist der Turm?", "en", "German", "Latin"),
        ("Quelle est la capitale de la France ?", "en", "French", "Latin"),
        ("¿Cuál es la capital de España?", "en", "Spanish", "Latin"),
        ("法国的首都是哪里？", "zh", "Chinese", "Han"),
        ("iPhone 15 的价格是多少？", "zh", "Chinese", "Han"),
        ("首都はどこですか？", "en", "Japanese", "Kana"),
        ("수도는 어디입니까?", "en", "Korean", "Hangul"),
        ("เมืองหลวงคือที่ไหน", "en", "Thai", "Thai"),
        ("ما هي عاصمة فرنسا؟", "en", "Arabic", "Arabic"),
        ("Какая столица Франции?", "en", "Russian", "Cyrillic"),
        ("Яка столиця Франції?", "en", "Ukrainian", "Cyrillic"),
        ("پایتخت فرانسه کجاست؟", "en", "Persian", "Arabic"),
        ("Explain 人工智能 in one short sentence, please", "en", "English", "Latin"),
        ("DNS TTL", "en", None, "Latin"),
        ("🦊 42", "en", None, "Latin"),
        ("", "en", None, "Latin"),
    ],
)
def test_what_a_text_tells_of_its_language(text: str, worded_in: str, named: str | None, written_in: str) -> None:
    assert (prompt_language(text), language_name(text), script(text)) == (worded_in, named, written_in)


@pytest.mark.parametrize(
    ("language", "text"),
    [
        ("en", "The office is open from nine to five."),
        ("en", "Sorry, I cannot help with that."),
        ("en", "I don't know."),
        ("en", "Who wrote Hamlet?"),
        ("de", "Der Zinssatz beträgt 3,5 Prozent."),
        ("de", "Nein, leider nicht."),
        ("de", "Das kann ich leider nicht beantworten."),
        ("de", "Ich weiß es leider nicht."),
        ("de", "Das Lager hat 1200 Teile."),
        ("de", "Wie hoch ist der Turm?"),
        ("fr", "Le bureau est ouvert de neuf à cinq."),
        ("fr", "Je ne sais pas."),
        ("fr", "Désolé, je ne peux pas répondre à cette question."),
        ("fr", "Je suis désolé, mais je n'ai pas d'informations."),
        ("es", "Lo siento, no puedo ayudar."),
        ("es", "La oficina está abierta de nueve a cinco."),
        ("es", "No lo sé."),
        ("es", "No tengo información sobre eso."),
        ("it", "Mi dispiace, non posso aiutarti."),
        ("it", "Non lo so."),
        ("it", "L'ufficio è aperto dalle nove alle cinque."),
        ("it", "Il documento non contiene questa informazione."),
        ("pt", "Não sei."),
        ("pt", "Desculpe, não posso ajudar com isso."),
        ("pt", "O escritório está aberto das nove às cinco."),
        ("pt", "Não encontrei informações sobre esse assunto."),
        ("pl", "Nie wiem."),
        ("pl", "Przepraszam, nie mogę pomóc."),
        ("pl", "Biuro jest otwarte od dziewiątej do siedemnastej."),
        ("pl", "Bilety kosztują dziewięć euro."),
        ("nl", "Ik weet het niet."),
        ("nl", "Sorry, ik kan die vraag niet beantwoorden."),
        ("nl", "Het kantoor is open van negen tot vijf."),
        ("tr", "Bilmiyorum."),
        ("tr", "Üzgünüm, bu konuda yardımcı olamam."),
        ("tr", "Ofis dokuzdan beşe kadar açık."),
        ("sv", "Jag vet inte."),
        ("sv", "Kontoret är öppet från nio till fem."),
        ("sv", "Tyvärr kan jag inte svara på den frågan."),
        ("cs", "Kancelář je otevřena od devíti do pěti."),
        ("cs", "Bohužel nemohu na tuto otázku odpovědět."),
        ("da", "Jeg ved det ikke."),
        ("no", "Jeg vet ikke."),
        ("fi", "Toimisto on avoinna yhdeksästä viiteen."),
        ("hu", "Az iroda kilenctől ötig van nyitva."),
        ("ro", "Biroul este deschis de la nouă la cinci."),
        ("vi", "Văn phòng mở cửa từ chín giờ đến năm giờ."),
        ("id", "Kantor buka dari jam sembilan sampai jam lima."),
        ("ru", "Офис открыт с девяти до пяти."),
        ("ru", "К сожалению, я не могу ответить на этот вопрос."),
        ("uk", "Офіс відкритий з дев'ятої до п'ятої."),
        ("uk", "На жаль, я не можу відповісти на це питання."),
        ("bg", "Офисът е отворен от девет до пет."),
        ("ar", "المكتب مفتوح من التاسعة إلى الخامسة."),
        ("ar", "لا أعرف."),
        ("ur", "دفتر صبح نو بجے کھلتا ہے۔"),
        ("ur", "مجھے نہیں معلوم۔"),
        ("fa", "پایتخت فرانسه کجاست؟"),
        ("fa", "نمی دانم."),
        ("hi", "कार्यालय नौ बजे खुलता है।"),
        ("hi", "मुझे नहीं पता।"),
        ("mr", "कार्यालय नऊ वाजता उघडते आणि पाच वाजता बंद होते."),
        ("zh", "办公室九点开门。"),
        ("zh", "我不知道。"),
        ("ja", "オフィスは九時に開きます。"),
        ("ko", "사무실은 아홉 시에 엽니다."),
        ("th", "สำนักงานเปิดเก้าโมง"),
        ("el", "Το γραφείο είναι ανοιχτό."),
        ("he", "המשרד פתוח מתשע עד חמש."),
        ("am", "ቢሮው ከዘጠኝ ሰዓት ይከፈታል።"),
        ("hy", "Գրասենյակը բաց է։"),
        ("zh", "iPhone 15 的价格是多少？"),
        ("de", "Siehe https://the.example/of/and und `the of and with` in der Datei."),
    ],
)  # fmt: skip
def test_the_language_of_a_short_text(language: str, text: str) -> None:
    assert detect_language(text) == language


@pytest.mark.parametrize("text", ["", "42", "🦊 42", "DNS TTL", "Paris", "OK", "SELECT * FROM users;", "5 MW", "Я не знаю.",
                                  "https://the.of/and", "Привет hello мир world"])  # fmt: skip
def test_a_language_that_is_unsure_is_none(text: str) -> None:
    assert detect_language(text) is None


def test_plain_english_loads_no_model() -> None:
    code = ("import sys; from rageval_spark.prompts.language import detect_language as d;"
            "assert d('What is the name of the river?') == 'en' and 'py3langid' not in sys.modules;"
            "assert d('Wie heißt der Fluss?') == 'de' and 'py3langid' in sys.modules")  # fmt: skip
    subprocess.run([sys.executable, "-c", code], check=True)


def test_the_first_text_that_is_not_blank_chooses_the_language() -> None:
    assert Rendering("m").language_of("法国的首都是哪里？", "Paris") == "zh"
    assert Rendering("m").language_of("Where?", "巴黎是首都。") == "en"
    assert Rendering("m").language_of(None, " ", "巴黎是首都。") == "zh"
    assert Rendering("m").language_of(None) == "en"
    assert Rendering("m", "en").language_of("法国的首都是哪里？") == "en"
    assert Rendering("m", "zh").language_of("Where?") == "zh"


@pytest.mark.parametrize(
    ("text", "parts"),
    [
        ("One. Two! Three? Four", ["One.", "Two!", "Three?", "Four"]),
        ("It costs 3.5 euros. See example.com for v1.2.", ["It costs 3.5 euros.", "See example.com for v1.2."]),
        ('He said "No." Then he left.', ['He said "No."', "Then he left."]),
        ("蓝藻在七月大量繁殖。湖水变绿！", ["蓝藻在七月大量繁殖。", "湖水变绿！"]),
        ("هل هذا صحيح؟ نعم.", ["هل هذا صحيح؟", "نعم."]),
        ("यह सही है। हाँ।", ["यह सही है।", "हाँ।"]),
        ("one line\nanother line", ["one line", "another line"]),
        ("... !!! \n", []),
        ("", []),
    ],
)
def test_where_sentences_end(text: str, parts: list[str]) -> None:
    assert sentences(text) == parts


@pytest.mark.parametrize(
    ("text", "count"),
    [("It's 3.5 km", 3), ("state-of-the-art", 1), ("北京很大", 4), ("ไทย", 3), ("iPhone 15 价格", 4), ("!?", 0)],
)
def test_words_and_characters_are_counted(text: str, count: int) -> None:
    assert len(word_tokens(text)) == count


def test_texts_that_are_equal_but_for_their_form() -> None:
    assert normalised(" Ｐaris\n\tIS  big ") == normalised("paris is big")
    assert normalised("STRASSE") == normalised("straße")
    assert normalised("paris") != normalised("paris!")
