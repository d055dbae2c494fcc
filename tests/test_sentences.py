"""Where sentences end, in many languages: split by hand, by kind of stop, and at a cost that grows with the text alone."""

from __future__ import annotations

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rageval_spark.prompts.language import sentence_spans, sentences

SENTENCES: dict[str, list[list[str]]] = {
    "en": [
        ["Employees of Miller Inc. must send Form No. 5 to approx. 20 offices."],
        ["The U.S. capital is Washington.", "France's capital is Paris."],
        ["J. R. R. Tolkien wrote the book in 1937.", "He lived in Oxford."],
        ["The price rose by 3.5 percent in v2.0.1.", "See https://x.example/a.b for details.", "It is free."],
        ["Dr. Smith met Mrs. Jones at 5 p.m. on Jan. 5.", "They spoke for an hour."],
        ["Fruit, e.g. apples and pears, is cheap.", "Nuts, i.e. almonds, are not."],
        ["Is it open?!", "Yes!", "Then go..."],
        ['He said "No."', "Then he left."],
        ['"It is closed," she said.', "He went home."],
        ["Meyer et al. found no effect (cf. Fig. 3 and Eq. 2).", "Others did."],
        ["The firm moved to the U.S. in 1990.", "It is now called Acme Corp. and has 5 vs. 6 sites."],
        ["Open the lid of box No. 12.", "Press the button for min. 3 sec. and wait."],
        ["Gen. Lee and Sgt. Brown live on Main St. in St. Louis.", "The Rev. King does not."],
        ["The fee is $3.50 (incl. tax, excl. shipping).", "The dept. of sales est. 40 orders."],
        ["Ask Prof. Lee, Ph.D., for vol. 3, p. 12 or pp. 14 to 16.", "The library has it."],
    ],
    "de": [
        ["Am 3. Oktober ist die Behörde geschlossen.", "Am 4. Oktober ist sie offen."],
        ["Obst, z. B. Äpfel, ist billig.", "Nüsse, d. h. Mandeln, sind es nicht."],
        ["Das gilt z.B. für Formular Nr. 5 und ca. 20 Ämter.", "Es gilt nicht für Dr. Müller."],
        ["Der Zins beträgt 3,5 Prozent.", "Das sind 1.200 Euro bzw. 100 Euro im Monat."],
        ["Das Haus in der Schillerstr. 5 gehört der Müller GmbH u. Co. KG.", "Es ist alt."],
        ["Er kam um 17.30 Uhr an.", "War es zu spät?", "Nein!"],
        ["Siehe Abs. 2, Art. 5 und S. 12 ff. des Vertrags.", "Mehr steht auf https://x.example/a.b.c."],
        ["Prof. Dr. Weber u. a. haben das ggf. geprüft.", "Das Ergebnis liegt vor."],
        ["Die Kosten betragen max. 5 Mio. Euro inkl. MwSt. pro Jahr.", "Das ist viel."],
        ["Ludwig XIV. lebte im 17. Jahrhundert.", "Er war der 1. König, der so lange regierte."],
        ["J. S. Bach wurde 1685 geboren.", "Er lebte u.a. in Leipzig."],
    ],
    "fr": [
        ["M. Dupont habite à Paris.", "Mme. Martin habite à Lyon."],
        ["Les fruits, p. ex. les pommes, sont bon marché.", "Les noix ne le sont pas."],
        ["Le prix est de 3,5 euros env. par mois.", "Est-ce cher ?", "Non !"],
        ["Voir art. 5, p. 12 et chap. 3 du contrat.", "Le document no. 7 est perdu."],
        ["Le Dr. Bernard et le Pr. Leroy arrivent à 17 h 30.", "Ils partent demain."],
        ["« Il est fermé. »", "Elle est partie."],
        ["J.-J. Rousseau est né en 1712.", "Il vivait à Genève."],
        ["La société St. Michel S.A. emploie 20 personnes, c.-à-d. peu de monde.", "Elle grandit."],
        ["Le site est https://x.example/a.b et la version est v2.0.1.", "Tout est gratuit…", "C'est bien."],
        ["Il mesure env. 2 m. et pèse max. 80 kg.", "Il est grand."],
    ],
    "es": [
        ["El Sr. López vive en Madrid.", "La Sra. García vive en Sevilla."],
        ["El Dr. Pérez y la Dra. Ruiz trabajan en EE. UU. desde 1990.", "Son médicos."],
        ["La fruta, p. ej. las manzanas, es barata.", "Las nueces no lo son."],
        ["Véase la pág. 12, el art. 5 y el cap. 3 del contrato.", "El documento está perdido."],
        ["¿Está abierto?", "¡Sí!", "Entonces vamos."],
        ["El precio es de 3,5 euros aprox. por mes.", "Es mucho."],
        ["La oficina está en la Avda. Mayor núm. 5.", "Abre a las 9 a. m. todos los días."],
        ["Ud. debe pagar 1.200 euros.", "Uds. no deben nada."],
        ["Gabriel G. Márquez nació en 1927.", "Escribió mucho..."],
        ["El sitio es https://x.example/a.b y la versión es v2.0.1.", "Es gratis."],
    ],
    "it": [
        ["Il Sig. Rossi abita a Roma.", "La Sig.ra Bianchi abita a Milano."],
        ["Il Dott. Verdi e il Prof. Neri arrivano alle 17.30.", "Partono domani."],
        ["La frutta, p. es. le mele, costa poco.", "Le noci, ad es. le mandorle, costano molto."],
        ["Si veda pag. 12, art. 5 e cap. 3 del contratto.", "Il documento n. 7 è perduto."],
        ["Il prezzo è di ca. 3,5 euro al mese.", "È caro?", "No!"],
        ["La ditta Rossi S.p.A. ha 20 sedi.", "La ditta Bianchi S.r.l. ne ha una."],
        ["G. Verdi nacque nel 1813.", "Visse a Milano."],
        ["L'ufficio apre alle 9.", "Chiude alle 17."],
        ["Il sito è https://x.example/a.b e la versione è v2.0.1.", "È gratuito."],
        ["Gli impiegati dell'ing. Conti vivono in v.le Roma.", "Lavorano molto..."],
    ],
    "pt": [
        ["O Sr. Silva mora em Lisboa.", "A Sra. Costa mora no Porto."],
        ["O Dr. Souza e a Dra. Lima trabalham na Av. Paulista, n. 5.", "São médicos."],
        ["As frutas, p. ex. as maçãs, são baratas.", "As nozes não são."],
        ["Veja a pág. 12, o art. 5 e o cap. 3 do contrato.", "O documento está perdido."],
        ["O preço é de aprox. 3,5 euros por mês.", "É caro?", "Não!"],
        ["A empresa Silva Ltda. tem 20 escritórios.", "A empresa Costa S.A. tem um."],
        ["J. M. Machado nasceu em 1839.", "Viveu no Rio."],
        ["V. Exa. deve pagar 1.200 euros.", "Os outros não devem nada."],
        ["O site é https://x.example/a.b e a versão é v2.0.1.", "É grátis."],
        ["O escritório abre às 9.", "Fecha às 17..."],
    ],
    "pl": [
        ["Mieszka przy ul. Długiej 5.", "Pracuje przy al. Jerozolimskich."],
        ["Prof. Nowak i dr Kowalski przyszli o godz. 17.30.", "Wyszli jutro."],
        ["Owoce, np. jabłka, są tanie.", "Orzechy, tj. migdały, nie są."],
        ["Zob. str. 12, art. 5 i rozdz. 3 umowy.", "Dokument nr 7 zaginął."],
        ["Cena wynosi ok. 3,5 euro za mies. i osobę.", "Czy to drogo?", "Nie!"],
        ["Firma Nowak sp. z o.o. ma 20 biur.", "Firma Kowalski S.A. ma jedno."],
        ["A. Mickiewicz urodził się w 1798 r. w Zaosiu.", "Mieszkał w Paryżu."],
        ["Ks. Jan i św. Piotr, m.in. w Rzymie, byli znani.", "To prawda."],
        ["Strona to https://x.example/a.b, a wersja to v2.0.1.", "Jest darmowa."],
        ["Biuro jest czynne od 3. do 5. maja.", "Potem jest zamknięte..."],
    ],
    "ru": [
        ["Он живёт на ул. Ленина, д. 5.", "Она живёт в г. Москве."],
        ["Фрукты, т. е. яблоки, дёшевы.", "Орехи, т.е. миндаль, дороги."],
        ["Цена составляет ок. 3,5 руб. за шт. и килограмм.", "Это дорого?", "Нет!"],
        ["См. стр. 12, ст. 5 и гл. 3 договора.", "Документ утерян."],
        ["А. С. Пушкин родился в 1799 г. в Москве.", "Он жил в Петербурге."],
        ["Это яблоки, груши и т. д. и т. п. из сада.", "Они вкусные."],
        ["Население составляет 5 млн. человек.", "Доход вырос на 1,2 млрд. рублей."],
        ["Проф. Иванов и акад. Петров пришли в 17.30.", "Они ушли завтра."],
        ["Сайт находится по адресу https://x.example/a.b и бесплатен.", "Версия v2.0.1 новая."],
        ["Офис открыт с девяти.", "Он закрыт в воскресенье…", "Приходите завтра."],
    ],
    "ar": [
        ["هل المكتب مفتوح؟", "نعم، المكتب مفتوح من التاسعة."],
        ["السعر هو 3.5 يورو في الشهر.", "هذا كثير!"],
        ["د. أحمد يعمل في المستشفى.", "أ. سالم يعمل في المدرسة."],
        ["الموقع هو https://x.example/a.b وهو مجاني.", "الإصدار هو v2.0.1."],
        ["يفتح المتحف في الساعة 9 صباحا.", "ويغلق في الساعة 5 مساء."],
        ["التذاكر تكلف تسعة يورو؛ والأطفال مجانا.", "الكلاب ممنوعة."],
    ],
    "ur": [
        ["دفتر صبح نو بجے کھلتا ہے۔", "کینٹین میں مچھلی اور چاول مفت ملتے ہیں۔"],
        ["کیا دفتر کھلا ہے؟", "جی ہاں!"],
        ["قیمت 3.5 روپے فی کلو ہے۔", "یہ بہت زیادہ ہے۔"],
        ["ڈاکٹر احمد ہسپتال میں کام کرتے ہیں۔", "وہ شام کو گھر جاتے ہیں۔"],
        ["ویب سائٹ https://x.example/a.b پر ہے۔", "یہ مفت ہے۔"],
    ],
    "hi": [
        ["कार्यालय नौ बजे खुलता है।", "वह पाँच बजे बंद होता है।"],
        ["क्या कार्यालय खुला है?", "हाँ!"],
        ["डॉ. शर्मा अस्पताल में काम करते हैं।", "श्री. वर्मा विद्यालय में काम करते हैं।"],
        ["कीमत 3.5 रुपये प्रति किलो है।", "यह बहुत है।"],
        ["जानकारी https://x.example/a.b पर है।", "यह मुफ़्त है।"],
        ["पं. नेहरू का जन्म 1889 में हुआ था।", "वे दिल्ली में रहते थे।"],
    ],
    "zh": [
        ["办公室九点开门。", "5点关门！", "3天后再开？", "100%。"],
        ["蓝藻在七月大量繁殖。", "湖水变绿！"],
        ["价格是3.5元。", "这很贵吗？", "不贵！"],
        ["他说：“办公室关门了。”", "她走了。"],
        ["网站是https://x.example/a.b，版本是v2.0.1。", "它是免费的。"],
        ["办公室九点开门……", "五点关门。"],
        ["J. K. 罗琳写了这本书。", "她住在爱丁堡。"],
    ],
    "ja": [
        ["オフィスは9時に開きます。", "5時に閉まります。", "1日券は800円。"],
        ["オフィスは九時に開きます。", "五時に閉まります。"],
        ["価格は3.5ユーロです。", "高いですか？", "いいえ！"],
        ["「閉まっています。」と彼は言った。", "彼女は帰った。"],
        ["サイトはhttps://x.example/a.bです。", "バージョンはv2.0.1です。"],
        ["これは本です……", "あれはペンです。"],
    ],
    "ko": [
        ["사무실은 아홉 시에 엽니다.", "다섯 시에 닫습니다."],
        ["가격은 3.5유로입니다.", "비쌉니까?", "아니요!"],
        ["사이트는 https://x.example/a.b 입니다.", "버전은 v2.0.1입니다."],
        ["J. K. 롤링이 이 책을 썼습니다.", "그녀는 영국에 삽니다."],
        ["입장료는 약 9유로입니다.", "개는 들어갈 수 없습니다..."],
    ],
    "nl": [
        ["Dhr. Jansen woont in Amsterdam.", "Mevr. de Vries woont in Utrecht."],
        ["Fruit, bijv. appels, is goedkoop.", "Noten, d.w.z. amandelen, zijn dat niet."],
        ["De prijs is ca. 3,5 euro p.p. per maand.", "Is dat duur?", "Nee!"],
        ["Zie blz. 12, art. 5 en nr. 7 van het contract.", "Het document is weg."],
        ["Prof. dr. Bakker komt om 17.30 uur.", "Hij blijft niet."],
    ],
    "sv": [
        ["Frukt, t.ex. äpplen, är billig.", "Nötter, dvs. mandlar, är det inte."],
        ["Priset är ca. 3,5 euro per månad.", "Är det dyrt?", "Nej!"],
        ["Se s. 12, kap. 3 och bl.a. nr. 7 i avtalet.", "Dokumentet är borta."],
    ],
    "cs": [
        ["Ovoce, např. jablka, je levné.", "Ořechy, tj. mandle, nejsou."],
        ["Cena je cca. 3,5 eura za měsíc.", "Je to drahé?", "Ne!"],
        ["Viz str. 12, čl. 5 a č. 7 smlouvy.", "Dokument je pryč."],
        ["Dne 3. října je úřad zavřený.", "Potom je otevřený."],
    ],
    "tr": [
        ["Dr. Yılmaz hastanede çalışıyor.", "Prof. Kaya okulda çalışıyor."],
        ["Meyveler, örn. elmalar, ucuzdur.", "Kuruyemişler vb. ürünler pahalıdır."],
        ["Fiyat 3,5 avrodur.", "Pahalı mı?", "Hayır!"],
        ["Bkz. s. 12 ve No. 5.", "Belge kayıp."],
    ],
    "uk": [
        ["Він живе на вул. Франка, буд. 5.", "Вона живе в м. Києві."],
        ["Фрукти, тобто яблука, дешеві.", "Горіхи, т. зв. мигдаль, дорогі."],
        ["Ціна становить 3,5 грн. за кілограм.", "Це дорого?", "Ні!"],
        ["Т. Г. Шевченко народився в 1814 р. в Моринцях.", "Він жив у Петербурзі."],
    ],
    "am": [["ቢሮው ከዘጠኝ ሰዓት ይከፈታል።", "በአምስት ሰዓት ይዘጋል።"]],
    "hy": [["Գրասենյակը բաց է ժամը իննից։", "Այն փակ է կիրակի։"]],
    "el": [["Το γραφείο είναι ανοιχτό.", "Είναι ακριβό;", "Όχι!"]],
    "fa": [["دفتر ساعت نه باز می‌شود.", "آیا گران است؟", "نه."]],
    "bn": [["অফিস নয়টায় খোলে।", "পাঁচটায় বন্ধ হয়।"]],
    "my": [["ရုံးဖွင့်သည်။", "ရုံးပိတ်သည်။"]],
}
"""Language → texts, split into their sentences by hand."""
NEAR_MISSES: list[list[str]] = [
    ["No.", "The office is closed."],
    ["The answer is no.", "He left."],
    ["It costs $5.", "That is cheap."],
    ["He lives in the U.S.", "He works there."],
    ["Take vitamin C.", "It is good."],
    ["It opens at 9 a.m.", "Tickets cost 5 euros."],
    ["It was fun in the sun.", "Then they sat.", "He may come in."],
    ["It is between you and me, not you and I.", "Did you see him?"],
    ["The office is open (see below).", "It closes at five."],
    ["(It is closed.)", "It opens tomorrow."],
    ["**Note.**", "It is closed on *Sunday.*", "Come back."],
    ['The 5" screen is big.', 'The 6" screen is bigger.', "Both are new."],
    ['"The office is open.', 'It closes at five."'],
    ["He called J. K. Rowling.", "She was out."],
    ["It weighs 5 lb.", "The box is big."],
    ["We sell apples, pears, etc.", "The shop is closed."],
    ["Das Zimmer hat die Nr. 5.", "Es ist schön."],
    ["Das kostet 5.", "Das ist viel."],
    ["Nein.", "Das Amt ist zu."],
    ["Er kam 1990.", "Dann ging er."],
    ["No.", "La oficina está cerrada."],
    ["No.", "L'ufficio è chiuso."],
    ["Non.", "Le bureau est fermé."],
    ["Il mesure 2 m.", "Il est grand."],
    ["Он родился в 1799 г.", "Он жил в Москве."],
    ["Firma Nowak sp. z o.o.", "Firma ma 20 biur w Polsce."],
    ["Não.", "O escritório está fechado."],
    ["„Es ist zu“, sagte sie.", "Er ging."],
    ["»Ist es zu?«, fragte sie.", "Er ging nach Hause."],
    ["It is open.", "It closes at five."],
    ["Mail info@acme.example.", "See www.acme.example.", "Or https://acme.example/a?b=c.", "Thanks."],
    ["Is Yahoo! big?", "Yes."],
    ["It is open from Mon. to Fri. from nine.", "It is closed on Sun."],
    ["It rose 5% in Q3 vs. Q2.", "Good."],
    ["Node.js and .NET 8.0 are used.", "ASP.NET is not."],
    ["The file is named a.b.txt.", "Open it."],
    ["Version 2.", "It is new."],
    ["The composer was G. Verdi of Parma.", "He died in 1901."],
    ["Il maestro G. Verdi nacque nel 1813.", "Visse a Milano."],
    ["Wer ist Herr K. Müller aus Bonn?", "Ich weiß es nicht."],
    ["Das Büro wurde damals endlich eröffnet.", "2021 wurde es geschlossen."],
    ["Die Fahrt dauert 30 Min.", "Der Bus kostet 3,5 Mio. Euro."],
    ["Kancelář byla otevřena na jaře.", "50 lidí tam pracuje."],
    ["Kontoret blev åbnet om foråret!", "50 personer arbejder der."],
    ["Toimisto avattiin keväällä?", "50 ihmistä työskentelee siellä."],
    ["В 2020 г. компания заработала 5 млн руб.", "В 2021 г. она потеряла 3 тыс. руб."],
    ["Muzeum je otevřeno např. 3. května od 9 hod.", "Vstupné je 50 Kč."],
    ["Il ferme le 5 janv. 2020.", "Le prix est de 5 euros."],
    ["Costs incl. VAT are 5 euros.", "He works for Smith & Co. Ltd. in London."],
    ["Add 2 tbsp. sugar and 1 tsp. salt.", "Mix."],
]
"""Texts with stops that end a sentence though they look like others, or the reverse."""
UNSPACED_LANGUAGES = ("zh", "ja")


@pytest.mark.parametrize(
    ("language", "parts"), [(language, parts) for language, texts in SENTENCES.items() for parts in texts])
def test_where_sentences_end_in_a_language(language: str, parts: list[str]) -> None:
    assert sentences(("" if language in UNSPACED_LANGUAGES else " ").join(parts)) == parts


@pytest.mark.parametrize("parts", NEAR_MISSES)
def test_where_a_stop_looks_like_another(parts: list[str]) -> None:
    assert sentences(" ".join(parts)) == parts


@pytest.mark.parametrize(
    ("text", "parts"),
    [
        ("1. Open the lid.\n2. Press the button.", ["1. Open the lid.", "2. Press the button."]),
        ("- Open the lid\n- Press the button", ["- Open the lid", "- Press the button"]),
        ("a) Open the lid.\r\nb) Press the button.", ["a) Open the lid.", "b) Press the button."]),
        ("# Opening hours\n\nThe office opens at nine. It closes at five.",
         ["# Opening hours", "The office opens at nine.", "It closes at five."]),
        ("I. Introduction\nII. Methods", ["I. Introduction", "II. Methods"]),
        ("It is open.It closes at five. Use System.Out.", ["It is open.", "It closes at five.", "Use System.Out."]),
        ("It is open. [1] It closes at five. [2]", ["It is open. [1]", "It closes at five. [2]"]),
        ("It is open. ... It is closed.", ["It is open.", "It is closed."]),
        ("...", []), ("… — !?", []), ("It is open.\n---\n***", ["It is open."]), ("", []),
    ],
)  # fmt: skip
def test_lines_markers_and_pieces_without_a_word(text: str, parts: list[str]) -> None:
    assert sentences(text) == parts


@pytest.mark.parametrize("piece", ["word ", ".", "a.", "('", '"', "字。", "1. a\n", "1) It is open. ", "`", "a@", "…", "... ",
                                   "A. ", "1. ", "_", ".)", "Dr. Smith (who said \"No.\") left. ", "[1] ",
                                   "https://", "5 m. "])  # fmt: skip
def test_the_cost_grows_with_the_length_alone(piece: str) -> None:
    text = piece * (300_000 // len(piece))
    begun = time.process_time()
    sentence_spans(text)
    assert time.process_time() - begun < 5, "0.6 s at most where it was written; with the square of the length it is minutes"


@pytest.mark.parametrize("length", [1990, 1999, 2000, 2001, 3999, 4000, 4001, 6000])
def test_a_long_line_is_split_like_a_short_one(length: int) -> None:
    parts = ["x" * length + " is open.", "Mr. Smith said so.", "It closes at 3.5 and opens again."]
    assert sentences(" ".join(parts)) == parts
    many = [f"Dr. No. {number} met Mr. Smith at approx. 5 p.m. on the way." for number in range(200)]
    assert sentences(" ".join(many)) == many


@given(st.text(alphabet="aB1 .!?…。۔\"'()[]«»\n-", max_size=60))
def test_spans_are_in_order_and_lose_nothing_but_space_and_signs(text: str) -> None:
    spans = sentence_spans(text)
    following = [start for start, _ in spans[1:]] + [len(text)]
    assert all(start < end <= after for (start, end), after in zip(spans, following, strict=False))
    kept = "".join(text[start:end] for start, end in spans)
    assert [sign for sign in kept if sign.isalnum()] == [sign for sign in text if sign.isalnum()]
