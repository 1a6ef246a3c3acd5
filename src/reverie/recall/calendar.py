"""The words that tell time, in English and Spanish, and what they mean.

Each word has a letter, the kind of word that it is, and a value. Words are written in lower case and without accents, "_" is a
space. What a text makes of them is read in `reverie.recall.time`.
"""

from __future__ import annotations

import re
from functools import cache
from typing import Any

MORNING, NIGHT = (5, 12), (19, 29)  # hours of the day


def _counted(words: str, first: int = 0) -> dict[Any, str]:
    return {value: row.replace("/", " ") for value, row in enumerate(words.split(), first)}


# By letter and by value.
_LEXICON: dict[str, dict[Any, str]] = {
    "M": _counted("january/enero february/febrero marzo abril mayo junio july/julio august/agosto"
                  " september/septiembre/setiembre october/octubre november/noviembre december/diciembre", 1),
    # Months and weekdays that are other words or names too: they need company.
    "m": _counted("jan/ene feb/febr march/mar april/apr/abr may june/jun jul aug sept/sep/set oct nov dec/dic", 1),
    "W": _counted("monday/lunes tuesday/martes wednesday/miercoles thursday/jueves friday/viernes saturday/sabado"
                  " sunday/domingo"),
    "w": _counted("mon/lun tue/tues wed/mie/mier/mierc thu/thur/thurs/jue/juev fri/vie/vier sat/sab sun/dom"),
    "S": {3: "spring primavera", 6: "summer verano", 9: "autumn fall otono", 12: "winter invierno"},  # north of the equator
    "P": {(0, 6): "madrugada", MORNING: "morning", (12, 20): "afternoon tarde", (17, 24): "evening", NIGHT: "night noche"},
    "U": {"second": "seconds secs segundos", "minute": "minute minutes min mins minuto minutos", "day": "day days dia dias d",
          "hour": "hour hours hr hrs hora horas h", "week": "week weeks workweek wk wks semana semanas w",
          "weekend": "weekend weekends fin_de_semana fines_de_semana finde", "fortnight": "fortnight quincena",
          "month": "month months mes meses", "quarter": "quarter quarters qtr trimestre trimestres",
          "half": "half mitad semestre", "year": "year years yr yrs ano anos", "century": "century siglo",
          "decade": "decade decades decada decadas decenio"},
    "R": {-1: "last past previous prior pasado pasada pasados pasadas ultimo ultima ultimos ultimas anterior anteriores",
          0: "this current este esta estos estas actual", -2: "antepasado antepasada",
          1: "next coming upcoming following proximo proxima proximos proximas siguiente siguientes que_viene que_vienen"},
    "T": {0: "today hoy right_now ahora_mismo", -1: "yesterday ayer", -2: "day_before_yesterday anteayer antier antes_de_ayer",
          1: "tomorrow tmrw", 2: "day_after_tomorrow pasado_manana"},
    "O": _counted("first/primer/primero/primera/primeros/primeras second/segundo/segunda third/tercer/tercero/tercera"
                  " fourth/cuarto/cuarta fifth/quinto/quinta sixth/sexto/sexta seventh/septimo/septima eighth/octavo/octava"
                  " ninth/noveno/novena tenth/decimo/decima eleventh twelfth thirteenth fourteenth fifteenth sixteenth"
                  " seventeenth eighteenth nineteenth twentieth", 1) | {30: "thirtieth"},
    "n": _counted("zero/cero one/uno two/dos three/tres four/cuatro five/cinco six/seis seven/siete eight/ocho nine/nueve"
                  " ten/diez eleven/once twelve/doce thirteen/trece fourteen/catorce fifteen/quince/xv sixteen/dieciseis/xvi"
                  " seventeen/diecisiete/xvii eighteen/dieciocho/xviii nineteen/diecinueve/xix twenty/veinte/xx"
                  " veintiuno/veintiun/xxi veintidos veintitres veinticuatro veinticinco veintiseis veintisiete veintiocho"
                  " veintinueve thirty/treinta")
    | {40: "forty cuarenta", 50: "fifty cincuenta", 60: "sixty sesenta", 70: "seventy setenta", 80: "eighty ochenta",
       90: "ninety noventa", 100: "hundred cien ciento", 200: "doscientos", 300: "trescientos", 400: "cuatrocientos",
       500: "quinientos", 600: "seiscientos", 700: "setecientos", 800: "ochocientos", 900: "novecientos", 1000: "thousand mil"},
    "G": {20: "twenties", 30: "thirties", 40: "forties", 50: "fifties", 60: "sixties", 70: "seventies", 80: "eighties",
          90: "nineties"},
    "c": {(1, 3): "couple par", (2, 5): "few several pocos pocas unos unas varios varias"},
    "e": {0: "early earlier", 1: "mid", 2: "late", 3: "later"},
    "E": {0: "beginning start principios comienzos inicios principio", 1: "middle mediados", 2: "end finales fines fin final"},
    # A month and day; a month, which one and the weekday; or days after Easter.
    "H": {(12, 25): "christmas christmas_day navidad navidades", (12, 24): "christmas_eve nochebuena", (10, 31): "halloween",
          (12, 31): "new_year's_eve new_years_eve nochevieja", (1, 1): "new_year's_day new_years_day new_year_day ano_nuevo",
          (1, 6): "dia_de_reyes", (2, 14): "valentine's_day san_valentin", (11, 2): "dia_de_muertos dia_de_los_muertos",
          (5, 1): "workers'_day labour_day dia_del_trabajo dia_del_trabajador", (7, 4): "independence_day",
          (11, 4, 3): "thanksgiving thanksgiving_day accion_de_gracias", (9, 1, 0): "labor_day", (5, 2, 6): "mother's_day",
          (6, 3, 6): "father's_day", (0,): "easter easter_sunday pascua", (1,): "easter_monday", (-3,): "semana_santa",
          (-2,): "good_friday viernes_santo"},
    "TP": {(0, NIGHT): "tonight", (-1, NIGHT): "anoche"}, "t": {0: "the la las los"}, "l": {0: "el"}, "a": {1: "a an un una"},
    "K": {(0, 0, "am"): "midnight medianoche", (720, 0, "pm"): "noon midday mediodia medio_dia"}, "k": {0: "o'clock en_punto"},
    "o": {0: "of de del"}, "i": {0: "in en"}, "j": {0: "on"}, "@": {0: "at a_las"}, "p": {0: "during durante por by para for"},
    "f": {1: "from"}, "d": {0: "within dentro_de"}, "z": {0: "to through thru al hacia"}, "Z": {0: "until till hasta"},
    "s": {0: "since desde a_partir_de a_partir_del"}, "b": {0: "between entre"}, "h": {-1: "hace"}, "&": {0: "and y or o"},
    "A": {1: "after despues_de despues_del later_than"}, "B": {-1: "before antes_de antes_del prior_to"},
    "g": {-1: "ago atras"}, "F": {3: "hence from_now despues mas_tarde"}, "J": {0: "now ahora date la_fecha"},
    "r": {0: "every each cada todos todas"},
    "v": {0: "will would can could should might must may_be may_have may_not may_also may_i may_we may_you"},
    # Words that change nothing are left out of the shape.
    "": {0: "business working calendar calendario de_trabajo laborables habiles about around exactly exactamente almost casi"
            " nearly roughly aproximadamente"},
}  # fmt: skip
WORDS = {
    word.replace("_", " "): (key, value) for key, rows in _LEXICON.items() for value in rows for word in rows[value].split()
}
WORDS |= dict.fromkeys(("half an hour", "media hora"), ("L", [(30, 30, "minute")]))
PHRASES = "|".join(sorted((re.escape(word) for word in WORDS if not word.isalpha()), key=len, reverse=True))
SPANISH_ONLY = frozenset(("once", "set", "mayo", "dom", "par"))  # other words in an English text
NAMES = frozenset(("abril", "julio", "domingo"))  # with a capital
MONTHS_AND_WEEKDAYS = frozenset(
    word + plural
    for word, (letter, _) in WORDS.items()
    if letter in ("M", "W") and word not in NAMES | SPANISH_ONLY
    for plural in ("", "s")
)
FUTURE = re.compile(r"\b(?:will|shall|gonna|going to|v(?:oy|as|amos|an|a) a)\b|['’]ll\b|\w[aeid]r(?:á|ás|án)\b", re.IGNORECASE)
SOON = re.compile("coming|viene", re.IGNORECASE)


def _any(words: str) -> str:
    return "|".join(words.split())


# The tense of a clause tells whether its time is `to_come`, as that of what is `planned` in the present, or `gone`; "got" may
# be either; what is `done` was not arranged for later. What matches without a name is passed over: "an advanced class".
_PLANNED = _any("""start begin leave arrive depart move travel return retire graduate turn celebrate finish end open launch
 expire sit play run perform compete present defend meet visit host join speak get take come go fly marry close fall see head
 land""")
_PAST = _any("""agreed ate became began begun been bore born bought broke broken brought built came caught chose chosen did done
 drank drew driven drove eaten fell felt flew flown forgot forgotten fought found froze gave given gone got grew grown had heard
 held hid hit hung hurt kept knew known laid led left lost made met paid put quit ran read rode rose said sang sank sat saw seen
 sent set shook shot shown slept sold spent split spoke spoken stole stood struck stuck swam swept swore taken taught thought
 threw told took tore understood was went were withdrew woke won wore worn written wrote""")
_BEING = r"(?:\b(?:am|is|are|im)|['’](?:m|re|s))"
_ENGLISH = rf"""
\b(?:the|an?|my|our|your|his|her|their|this|that|some)\ (?-i:[a-z]{{2,}}ed|start|end|move|run|visit|play|return|set|read|left)\b
|(?P<to_come>\b(?:will|shall|gonna|won't|going\ to|due)\b|['’]ll\b
  |\b(?:was|were|got|been|be|is|are)\ (?:re-?)?(?:scheduled|moved|booked|set|postponed|delayed|pushed|brought|planned)
    (?:\ back|\ forward)?\ (?:to|for|on|until)\b
  |{_BEING}\ (?:(?:not|also|finally|only|just|now|all|both|so|really)\ )?(?!being)\w+ing\b(?:(?<=getting)\ [a-z]+ed\b)?
  |{_BEING}\ (?:\w+\ )?[a-z]+ed\ to\b|\bgets?\ [a-z]+ed\b)
|(?P<unsure>{_BEING}\ (?:\w+ly\ |so\ |very\ |really\ )?(?-i:[a-z]{{2,}}ed)\b)
|(?P<got>(?:\b(?:have|has)\ |['’](?:ve|s)\ )?\bgot\b(?!\ (?:married|engaged|divorced|back|home|fired|promoted|hired|laid)))
|(?P<done>\bjoined\b)
|(?P<gone>\b(?:{_PAST})\b|(?-i:(?:^[A-Z]|\b[a-z])[a-z]+(?<!e)ed\b)(?<!hundred)(?<!\bshed)(?<!sacred)(?<!naked))
|(?P<planned>\b(?:am|is|are|im|have|has)\b|['’](?:m|re)\b|\b(?:it|that|he|she|there)['’]s\b
  |['’]s(?=\ (?:on|in|at|due|back|away)\b)|\b(?:I|we|they|you|and)\ (?:{_PLANNED})\b
  |\b(?:goes|flies|marries|(?:{_PLANNED})s)\b)"""
_SPANISH = r"""
\b(?:el|la|los|las|una?|mis?|sus?|del|al|de)\ (?:\w+\ )?(?:vinos?|trajes?|vuelos?|casas?|juegos?|entregas?|cambios?
  |regresos?|retiros?|comienzos?|inicios?|caf[eé]s?|beb[eé]s?|chalé|carné|puré)\b
|\b(?:acaban?|graban?|existe|qué|porqué|aquí|así|allí|ahí)\b(?!\ de\ \w+r)
|(?P<to_come>\bv(?:oy|as|amos|an|a)\ a\b
  |\bse\ (?:movió|ha\ movido|cambió|ha\ cambiado|pospuso|aplazó|retrasó|adelantó|pasó|ha\ pasado)\ (?:al?|para)\b
  |\b(?!(?:re)?tiré|(?:mi|gi|admi|prepa|pa|sepa|repa|decla|espe|supe|ope|recupe|gene|libe)ré)\w+[aeid]r(?:é|ás?|emos|án)\b)
|(?P<gone>\bacab(?:o|as?|amos|an)\ de\b
  |\b(?:he|has|ha|hemos|han|había|habíamos)\ (?:\w+[ai]do|hecho|visto|puesto|escrito|vuelto|muerto|inscrito)\b
  |\b(?:fui|fue|fuimos|fueron|hice|hizo|hicimos|tuve|tuvo|tuvimos|estuve|estuvo|estuvimos|vine|vino|vinimos|puse|puso|pude|pudo
    |quise|quiso|dije|dijo|supe|supo|dio|dimos|vio|vimos|traje|trajo|era|eran|éramos|iba|iban|íbamos|tenía|vivía|quería|podía|hacía
    |empece|naci|conoci|cumpli|recibi|inscribi|sali|volvi|perdi|nacio|murio|cumplio|salio|volvio|conocio|empezo|comenzo
    |compre|adopte|llegue|deje|termine|(?:me|nos|se)\ (?:mude|case|gradue|jubile|separe|divorcie|cambie|apunte|anote|titule))\b
  |(?-i:(?:^[A-Z]|\b[a-zéáíóú])\w*(?:é|ó|[^\Waeiou\d_]í)\b)|\b\w+(?:aron|ieron|jeron|aban?|ábamos)\b)
|(?P<planned>\b(?:es|son|hay|estoy|está|están|estamos|tengo|tienen?|tenemos|voy|va|van|vamos|vengo|vienen?|salgo|salen?|toca|nazco
    |nacen?|juego|doy|dan|hago|hacen|hacemos|volvemos|caducan?|parto|parten|me\ caso|se\ casan?|te\ casas
    |(?:empiez|comienz|inici|lleg|vuel|viaj|regres|celebr|jubil|retir|termin|estren|debut|examin|oper|entreg|cierr|jueg|mud|traslad
      |grad[uú]|titul|present|qued|cambi|apunt|entr)(?:o|as?|an)|(?:vuelv|cumpl|abr|corr|venc|recib|defiend|compit)(?:o|es?|en))\b)
|(?P<unsure>\b(?!primos|[uú]ltimos|pr[oó]ximos)\w+[ai]mos\b)"""


@cache
def tenses(language: str) -> re.Pattern[str]:
    """Return what tells the tense of a clause, by the names of its groups; made when first asked for, as it takes a while."""
    return re.compile(_SPANISH if language == "es" else _ENGLISH, re.IGNORECASE | re.VERBOSE)


# Names of days, and "half a year ago", of which only a part is known here.
FEAST_BEFORE = re.compile(r"\b(?:black|cyber|ash|palm|holy|maundy|shrove|super bowl|half|medio) $", re.IGNORECASE)
FEAST_AFTER = re.compile(r" (?:santo|negro|de (?:ceniza|ramos|resurrecci[oó]n|gloria))\b", re.IGNORECASE)
# What stands right before a day that is arranged, though the verb be past: "I got a job starting May 3".
ARRANGED = re.compile(
    r"\b(?:starting|beginning|effective|for|para|empezando|comenzando)(?: on| from| the| el| la)? $", re.IGNORECASE
)
