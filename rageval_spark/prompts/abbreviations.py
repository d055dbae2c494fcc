"""Abbreviations by language, whose full stop ends no sentence. They add to those that `sentencex` knows.

Words are written without their last stop, in lower case: "z.b" is "z. B." and "z.B.".
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cache


@dataclass(frozen=True)
class Abbreviations:
    """The stop of one in `always` (titles) ends no sentence, of one in `numbered` none before a number, of one in `inner` none
    before a small letter."""

    always: frozenset[str] = field(default_factory=frozenset)
    numbered: frozenset[str] = field(default_factory=frozenset)
    inner: frozenset[str] = field(default_factory=frozenset)


_WORDS: Mapping[str, tuple[str, str, str]] = {
    "en": (
        "mr mrs ms dr prof gen sgt capt cpt lt col maj rev hon messrs st mt ft gov sen rep pres mx supt atty e.g i.e eg ie cf viz vs v incl excl approx",
        "no nos fig figs eq eqs ch chap sec sect vol vols p pp para approx ca c ver ed pt ex ref reg est jan feb mar apr jun"
        " jul aug sep sept oct nov dec max min ext tel rm nr abt avg circa",
        "inc ltd co corp bros llc plc dept univ assn est al etc ca avg min max hr hrs sec secs mo yr yrs temp tel ext"
        " ave blvd rd sq st mon tue tues wed thu thur thurs fri sat sun jan feb mar apr jun jul aug sep sept oct nov dec a.m p.m am pm"
        " u.s u.k u.n e.u ph.d esq jr sr gal lb lbs oz ft mi misc orig tbsp tsp resp govt intl natl assoc",
    ),
    "de": (
        "hr fr dr prof dipl ing u z.b z.t z.zt d.h u.a u.u i.d.r i.a i.v o.ä u.ä v.a m.e s.o s.u bzw vgl ggf evtl sog insb insbes inkl"
        " exkl zzgl abzgl einschl gem lt bez betr ca st hl fam frl geb gest verh nat bspw beispielsw inh i.h.v i.s.d bzgl hrsg",
        "nr nrn art abs s seite kap bd abb tab aufl § ziff lit anm rn rz str tel fax ca mind zi hnr nr jan feb mär apr jun jul aug sept okt nov dez etwa max min",
        "mio mrd tsd usw etc str u co max min mind std sek tel allg ff f jh jhd jan feb mär apr jun jul aug sept okt nov dez mo di mi"
        " do fr sa so abk abt bsp dt engl frz ital lat urspr verm wiss zus",
    ),
    "fr": (
        "m mm mme mmes mlle mlles dr dre pr prof me mgr st ste sts p.ex p.e c.-à-d c.à.d cf env av bd bld boul gén j.-c",
        "no nos n art p pp chap vol fig éd env tél t al par § ch réf max min num app tab alin janv févr avr juil sept oct nov déc",
        "env max min etc hab tél s.a s.a.r.l sarl cie éd janv févr avr juil sept oct nov déc p.ex c.-à-d i.e",
    ),
    "es": (
        "sr sra srta sres sras dr dra dres prof profa lic ing arq gral cnel cap sto sta d dña ud uds vd vds p.ej ej c/ avda av avd"
        " cf excmo excma ilmo fdo mons rvdo ee ff rr dd cc",
        "núm núms no n nro art arts pág págs p pp cap vol fig tel tfno aprox máx mín ed t ref apdo ene feb abr jun jul ago sept oct nov dic",
        "aprox etc máx mín tel s.a s.l cía dpto ee.uu a.m p.m a.c d.c hab ene feb abr jun jul ago sept oct nov dic p.ej",
    ),
    "it": (
        "sig sigg sig.ra sig.na dott dott.ssa dr prof prof.ssa ing avv arch geom rag on sen mons rev p.es ad.es es cfr v.le p.zza"
        " c.so ecc.mo egr gent spett s.ta s.to",
        "n nn nr num art artt pag pagg p pp cap vol fig tel ca par co comma ed max min c.ca sez lett tab all gen feb apr giu lug ago set ott nov dic",
        "ca ecc max min tel s.p.a s.r.l s.n.c s.a.s gen feb mar apr mag giu lug ago set ott nov dic a.c d.c c.ca",
    ),
    "pt": (
        "sr sra srs sras srta dr dra drs prof profa profª eng engª arq av r trav pç sto sta d v exa exª v.exa v.sa p.ex ex cf gen cel cap"
        " exmo exma ilmo mons",
        "n nº no núm art arts pág págs p pp cap caps vol fig tel aprox máx mín séc inc ed ref al",
        "aprox etc ltda ltd cia máx mín tel s.a depto jan fev abr jun jul ago set out nov dez a.c d.c hab p.ex",
    ),
    "pl": (
        "prof dr hab mgr inż ks św bp abp gen płk mjr kpt por ul al pl os np tj tzn tzw m.in zob por j.w p.o ps lek woj gm red sp",
        "nr str s art ust pkt rozdz rys tab t tom ok godz r w wiek poz par zał tel ok",
        "ok mies r w godz tys mln mld zł gr itd itp etc m.in z.o.o o.o s.a sp tel max min wg ur zm kw rok hab n.e p.n.e",
    ),
    "ru": (
        "ул пр просп пер пл д кв г гг с пос обл р-н т.е т.к т.н т.о т.ч напр см ср проф акад доц д-р г-н г-жа гос св корп стр б-р"
        " наб ш р дер инж ген",
        "стр с ст гл п пп рис табл ок т тт ч № прил разд изд в вып тел д кв стр корп рис",
        "г гг в вв млн млрд тыс трлн руб коп шт чел т.д т.п др пр ок мин сек ч час кг км см мм м макс н.э тел долл л га ред изд акад",
    ),
    "uk": (
        "вул просп пров пл буд б кв м с смт обл р-н т.зв т.є напр див пор проф акад доц св корп д-р п бул наб ст ген інж",
        "с ст гл п рис табл бл т ч розд вид тел буд кв м див",
        "р рр ст млн млрд тис грн коп шт т.д т.п ін бл хв сек год макс мін н.е тел зв",
    ),
    "cs": (
        "p pí sl dr mudr judr phdr rndr ing mgr bc doc prof st sv ul nám tř např tj tzv tzn resp popř příp mj srov viz gen plk kpt",
        "č čl str s odst kap obr tab cca asi max min písm r sv roč tel ods",
        "cca atd apod aj mil mld tis max min tel s.r.o a.s spol r st hod kč ks ml",
    ),
    "sk": (
        "p pí dr mudr judr ing mgr bc doc prof st sv ul nám napr tj tzv tzn resp príp porov gen plk",
        "č čl str s odst kap obr tab cca asi max min písm r tel",
        "cca atď apod mil mld tis max min tel s.r.o a.s spol r st hod ks",
    ),
    "nl": (
        "dhr mevr mw mej dr drs ir ing mr prof ds st bijv bv d.w.z dwz m.b.t m.a.w m.n n.a.v o.a t.a.v t.b.v t.o.v resp incl excl"
        " evt zgn vgl o.m i.p.v i.v.m ca plm gem",
        "nr nrs blz p pag art hfst fig afb tel ca lid par max min nov deel dl bijl",
        "ca enz etc max min mln mld p.p p.st tel n.v b.v str jan feb mrt apr jun jul aug sept okt nov dec a.u.b s.v.p",
    ),
    "sv": (
        "hr fr dr prof t.ex tex d.v.s dvs bl.a bla m.fl s.k sk f.d fr.o.m t.o.m p.g.a pga resp inkl exkl jfr st sankt ev ang",
        "nr s sid kap fig tab ca art max min bd tel vol kl",
        "ca osv etc m.m mm kl max min milj mkr kr tel st inkl exkl o.s.v t.v m.fl e.kr f.kr",
    ),
    "da": ("hr fr dr prof f.eks fx bl.a d.v.s dvs jf inkl ekskl skt mht ca evt", "nr s kap fig tab ca art stk max min tel kl",
           "ca osv etc m.m m.fl kl max min mio mia kr tel"),
    "no": ("hr fr dr prof f.eks bl.a d.v.s dvs jf inkl ekskl st ca evt", "nr s kap fig tab ca art maks min tel kl",
           "ca osv etc m.m m.fl kl maks min mill mrd kr tel"),
    "fi": ("esim ts ns mm prof tri t.s ks vrt", "n s ks nro luku kuva noin no klo", "n jne yms ym mrd milj klo e.kr j.kr puh"),
    "hu": ("dr prof ifj id özv pl ún ill stb kb vö ld szt", "kb sz old o fej sz min max", "kb stb stb ill kft rt zrt bt sz mrd ft"),
    "ro": ("dl d-l dna d-na dr prof ing sf str bd de.ex ex cca aprox", "nr art pag p alin cap fig cca aprox tel",
           "etc cca aprox mil mld tel s.a s.r.l ș.a"),
    "ca": ("sr sra dr dra prof st sta p.ex av c pl", "núm art pàg p cap fig aprox tel", "aprox etc tel s.a s.l"),
    "tr": (
        "dr prof doç yrd av müh alb org gen bkz örn öğr sn hz st krş",
        "no s sf bkz md c cilt yy şek tab tel yak madde",
        "vb vs vd yak ltd şti a.ş tel mah cad sok sk apt bul dk sn sa",
    ),
    "ar": ("د أ م ا.د أ.د ص.ب ش", "ص م رقم", ""),
    "hi": ("डॉ श्री श्रीमती पं प्रो सु कु मो रु", "रु सं पृ क्र", ""),
    "mr": ("डॉ श्री श्रीमती पं प्रा रु", "रु सं पृ क्र", ""),
    "bn": ("ডা ড মো মি প্রফ", "নং পৃ", ""),
    "el": ("κ κα κος δρ καθ π.χ δηλ βλ λ.χ αγ", "αρ σελ σ τ κεφ αρθ περ", "π.χ κ.λπ κτλ κ.ά εκατ δισ χιλ"),
    "bg": ("ул бул д-р проф доц г-н г-жа т.е т.нар напр вж св инж гр", "стр с чл ал т гл фиг ок", "г гг млн млрд хил лв др т.н ок мин"),
    "sr": ("ул бул др проф тј тзв нпр св инж", "бр стр чл ст гл сл", "г год млн хиљ дин итд"),
    "be": ("вул пр праф г.зн напр св", "с ст гл мал табл", "г гг млн млрд тыс руб і.г.д"),
    "hr": ("dr prof ul tzv npr tj sv gđa g", "br str čl st gl sl oko", "god mil mlrd tis itd kn"),
    "sl": ("dr prof ul t.i tj npr sv ga g", "št str čl st pogl sl", "itd mio mrd tis d.o.o"),
}  # fmt: skip

ORDINALS = frozenset({"de", "cs", "sk", "pl", "hu", "fi", "da", "no", "hr", "sl", "sr", "et", "lv", "tr"})
"""Languages that write an ordinal as a number with a full stop."""


@cache
def abbreviations_of(language: str | None) -> Abbreviations:
    """Return the abbreviations of a language. A text of an unsure language is read with those of English."""
    return Abbreviations(*(frozenset(words.split()) for words in _WORDS.get(language or "en", ("", "", ""))))
