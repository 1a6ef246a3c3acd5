"""What messages teach by rules (K18, C4): a corpus with bars for how often that is right, and a case of each kind."""

from datetime import UTC, datetime
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from benchmarks import corpus
from reverie.learn.extract import MOST, extract
from reverie.memory.semantic import TYPES, Claim

CORPUS = Path(__file__).parent / "corpus"
HALVES = sorted(path.name for path in CORPUS.glob("*.jsonl") if path.name != "rooms.jsonl")
NOW = datetime(2026, 6, 17, 12, tzinfo=UTC)  # a Wednesday


def taught(message: corpus.Message) -> tuple[Claim, ...]:
    return extract(message["text"], speaker=message["speaker"], at=datetime.fromisoformat(message["at"]))


def said(text: str, speaker: str = "Ana") -> list[str]:
    return [claim.text for claim in extract(text, speaker=speaker, at=NOW)]


def only(text: str) -> Claim:
    (claim,) = extract(text, speaker="Ana", at=NOW)
    return claim


@pytest.mark.parametrize("half", HALVES)
def test_of_what_is_taken_from_messages_95_in_100_is_right_and_60_in_100_is_found(half: str) -> None:
    read = corpus.score(corpus.read(CORPUS / half), lambda message: [claim.text for claim in taught(message)])
    assert read.precision >= 0.95, read.notes
    assert read.recall >= 0.60, read.notes


def test_no_claim_about_someone_else_becomes_one_about_the_speaker() -> None:
    """R7: in a room people speak of each other."""
    rooms = corpus.read(CORPUS / "rooms.jsonl")
    claims = [(message, claim) for message in rooms for claim in taught(message)]
    assert len(rooms) >= 50
    assert claims
    for message, claim in claims:
        assert not claim.is_about_speaker, claim
        assert message["about"].split()[0] in claim.text, claim


@pytest.mark.parametrize(
    ("text", "fact", "topic"),
    [
        ("hello! my name's Farida", "Ana's name is Farida", "name"),
        ("you can call me Bea", "Ana wants to be called Bea", "name"),
        ("I've been living in Osaka for six years now", "Ana has been living in Osaka for six years", "home"),
        ("I'm a software engineer at Spotify", "Ana is a software engineer at Spotify", "work"),
        ("I'm studying architecture in Delft", "Ana is studying architecture in Delft", "study"),
        ("I teach Italian in Siena", "Ana teaches Italian in Siena", "work"),  # unlike "it"
        ("I work at Newhaven docks", "Ana works at Newhaven docks", "work"),  # unlike "new things"
        ("I have two kids, Maya and Theo", "Ana has two kids, Maya and Theo", "family"),
        ("my sister's name is Ingrid", "Ana's sister is called Ingrid", "family"),
        ("I've got a labrador called Moose 🐶", "Ana has a labrador called Moose", "pet"),
        ("my birthday is April 2nd", "Ana's birthday is on April 2nd", "date"),
        ("I absolutely love Ethiopian food", "Ana loves Ethiopian food", "like"),
        ("I can't stand the smell of fish", "Ana can not stand the smell of fish", "dislike"),
        ("I'm allergic to penicillin and bee stings", "Ana is allergic to penicillin and bee stings", "diet"),
        ("I don't eat pork or shellfish", "Ana does not eat pork or shellfish", "diet"),
        ("I speak Portuguese and a bit of Japanese", "Ana speaks Portuguese and a bit of Japanese", "language"),
        ("I drive an old Volvo 240", "Ana drives an old Volvo 240", "possession"),
        ("I use Arch Linux on a ThinkPad", "Ana uses Arch Linux on a ThinkPad", "tool"),
        ("I'm building a greenhouse out of old windows", "Ana is building a greenhouse out of old windows", "project"),
        ("my goal is to read 40 books", "Ana's goal is to read 40 books", "plan"),
        ("I swim three mornings a week before work", "Ana swims three mornings a week before work", "habit"),
        ("I live in Ghent with my partner", "Ana lives in Ghent with their partner", "home"),
        ("I'm a midwife in Hull, what shoes should I get?", "Ana is a midwife in Hull", "work"),
        ("for reference I'm crazy about jigsaws", "Ana is crazy about jigsaws", "like"),
        ("I love history podcasts", "Ana loves history podcasts", "like"),
        ("me and Omar are flying to Accra in August", "Ana is flying to Accra in August (2026-08)", "plan"),
        ("im lactose intolerant btw", "Ana is lactose intolerant", "diet"),
        ("the 9th is our anniversary", "Ana's anniversary is on the 9th", "date"),
        ("Paula here, from the choir", "Ana's name is Paula", "name"),
        ("i speak german and a bit of dutch", "Ana speaks german and a bit of dutch", "language"),
        ("coriander tastes like soap to me", "coriander tastes like soap to them, says Ana", "dislike"),
        ("me llamo Yolanda, encantada", "Ana se llama Yolanda", "name"),
        ("llevo seis años viviendo en Oporto", "Ana lleva seis años viviendo en Oporto", "home"),
        ("trabajo como enfermera en La Paz", "Ana trabaja como enfermera en La Paz", "work"),
        ("estudio conservación en Cuenca", "Ana estudia conservación en Cuenca", "study"),  # unlike "con ganas"
        ("estudio segundo de Derecho en Salamanca", "Ana estudia segundo de Derecho en Salamanca", "study"),
        ("tengo tres hijos: Pablo, Inés y Hugo", "Ana tiene tres hijos: Pablo, Inés y Hugo", "family"),
        ("no tengo hermanos", "Ana no tiene hermanos", "family"),
        ("tengo un perro que se llama Chispa", "Ana tiene un perro que se llama Chispa", "pet"),
        ("mi cumpleaños es el 14 de agosto", "El cumpleaños de Ana es el 14 de agosto", "date"),
        ("me encanta la comida etíope", "A Ana le encanta la comida etíope", "like"),
        ("no soporto el ruido de los petardos", "Ana no soporta el ruido de los petardos", "dislike"),
        ("soy alérgica a la penicilina", "Ana es alérgica a la penicilina", "diet"),
        ("hablo portugués y un poco de japonés", "Ana habla portugués y un poco de japonés", "language"),
        ("tengo un Seat Ibiza del 2010", "Ana tiene un Seat Ibiza del 2010", "possession"),
        ("tomo todas mis notas en Obsidian", "Ana toma todas sus notas en Obsidian", "tool"),
        ("estoy escribiendo una novela sobre faros", "Ana está escribiendo una novela sobre faros", "project"),
        ("estoy ahorrando para una camper", "Ana está ahorrando para una camper", "plan"),
        ("voy al gimnasio todos los lunes", "Ana va al gimnasio todos los lunes", "habit"),
        ("no me digas señora, decime Marga", "Ana quiere que le llamen Marga", "name"),
        ("desde que llegué todas me llaman Flaca", "A Ana le llaman Flaca", "name"),
        ("vivo en jaca, cerca del río, ¿nieva mucho por ahí?", "Ana vive en jaca", "home"),
        ("total, que alquilo un pisito en Cuenca", "Ana alquila un pisito en Cuenca", "home"),
        ("llevo ya doce años trabajando de soldadora", "Ana lleva ya doce años trabajando de soldadora", "work"),
        ("me dedico a reparar relojes antiguos", "Ana se dedica a reparar relojes antiguos", "work"),
        ("el 4 de mayo cumplo cincuenta", "Ana cumple cincuenta el 4 de mayo (2027-05-04)", "date"),
        ("a mí los museos pequeños me encantan", "A Ana le encantan los museos pequeños", "like"),
        ("qué pereza me dan las cenas de empresa", "A Ana le dan pereza las cenas de empresa", "dislike"),
        ("el pepino me sienta fatal", "A Ana le sienta fatal el pepino", "diet"),
        ("mi lavadora es una Balay de carga superior", "lavadora de Ana: una Balay de carga superior", "possession"),
        ("para las facturas uso Odoo", "Ana usa Odoo (facturas)", "tool"),
        ("suelo madrugar para ir a remar", "Ana suele madrugar para ir a remar", "habit"),
        ("los martes toca coro con las del barrio", "Ana: los martes, coro con las del barrio", "habit"),
        ("este año quiero sacarme el carnet de moto", "Ana quiere sacarse el carnet de moto", "plan"),
        ("I live in the US", "Ana lives in the US", "home"),
        ("I work in the mine", "Ana works in the mine", "work"),
        ("I live in St. Louis with two cats", "Ana lives in St. Louis with two cats", "home"),
        ("We moved from Oaxaca to the U.S. in 2019", "Ana moved from Oaxaca to the U.S. in 2019", "home"),
        ("I live on Elm St. My street is quiet", "Ana lives on Elm St", "home"),
        ("Vivo en EE. UU. desde 2010", "Ana vive en EE. UU. desde 2010", "home"),
        ("I work in I.T.", "Ana works in I.T.", "work"),
        ("I drink I.P.A. every Friday", "Ana drinks I.P.A. every Friday", "habit"),
        ("We moved to Washington, D.C. in 2019", "Ana moved to Washington, D.C. in 2019", "home"),
        ("I live in Portland, Oregon with my aunt", "Ana lives in Portland, Oregon with their aunt", "home"),
        ("i grew up in st. louis", "Ana grew up in st. louis", "origin"),
        ("I have a Ph.D. in physics", "Ana has a Ph.D. in physics", "study"),
        ("I bought a Honda Civic for $4,500", "Ana bought a Honda Civic for $4,500", "possession"),
        ("me compré una bici de 1.200,50 euros", "Ana se compró una bici de 1.200,50 euros", "possession"),
        ("My favourite band is Earth, Wind & Fire", "Ana's favorite band is Earth, Wind & Fire", "like"),
        ("My favourite show is Dr. Who", "Ana's favorite show is Dr. Who", "like"),
        (
            "My favorite poets are Plath, Lorca and H. D. Thoreau",
            "Ana's favorite poets are Plath, Lorca and H. D. Thoreau",
            "like",
        ),
        ("Mi peli favorita es El bueno, el feo y el malo", "peli favorita de Ana: El bueno, el feo y el malo", "like"),
        ("I'm allergic to cats, dogs and pollen", "Ana is allergic to cats, dogs and pollen", "diet"),
        ("Im alergic to peanuts", "Ana is alergic to peanuts", "diet"),
        ("Hablo español, inglés y un poco de francés", "Ana habla español, inglés y un poco de francés", "language"),
        ("I'm not a fan of jazz", "Ana is not a fan of jazz", "dislike"),
        ("Ya no me gusta el fútbol", "A Ana ya no le gusta el fútbol", "dislike"),
        ("prefiero el té", "Ana prefiere el té", "like"),
        ("I get up at 6 and go running", "Ana gets up at 6", "habit"),
        ("I could eat ramen every day", "Ana could eat ramen every day", "like"),
        ("I legally changed my name to Alex", "Ana legally changed their name to Alex", "name"),
        ("El mes que viene me mudo a Gijón", "Ana se muda a Gijón el mes que viene (2026-07)", "date"),
        ("Mi proyecto se llama Faro", "El proyecto de Ana se llama Faro", "project"),
        ("My cat Miso died", "Ana's cat Miso died", "pet"),
        ("Se murió mi perro Toby", "A Ana se le murió su perro Toby", "pet"),
        ("My son's name is Søren", "Ana's son is called Søren", "family"),
        ("My kids are Emma, Jack and Zoë", "Ana's kids are called Emma, Jack and Zoë", "family"),
        ("I start my new job on Monday", "Ana starts their new job on Monday (2026-06-22)", "work"),
    ],
)
def test_a_fact_is_about_the_speaker_by_name_in_the_language_and_words_it_was_said_in(text: str, fact: str, topic: str) -> None:
    claim = only(text)
    assert (claim.text, claim.topic) == (fact, topic)
    assert claim.is_about_speaker
    assert claim.type in TYPES


@pytest.mark.parametrize(
    "text",
    [
        "Do I still live in Denver in your notes?",
        "who told you that I work at Google?",
        "am I allergic to anything, according to you",
        "If I moved to Canada, would I need a visa?",
        "Imagine I'm a chef and I own a restaurant in Rome.",
        "Suppose my wife is German. I live in Kent then.",
        "I wish I had a dog",
        "I used to live in Prague",
        "when I was a kid I had a parrot called Kiki",
        "I live in Narnia lol jk",
        "I love Mondays, said no one ever",
        "oh sure, and I'm the Pope",
        "Luis told me: I'm allergic to shrimp",
        '"I am a nurse and I live in Leeds" is how her profile starts',
        "> I work at Meta\n> and I love sushi\nwhat a post",
        "Translate to Spanish: I live in London and my name is Pat",
        "can you rephrase this: I am a teacher and I enjoy hiking",
        "Write a cover letter saying I worked at Apple for ten years",
        "proofread please\nI lives in Cork and I has a dog named Rex",
        "```\n# I live in Oslo\n```",
        "the call `I live in Rome` fails",
        "People who live in Boston drive like maniacs",
        "I'm not saying I hate jazz",
        "it's not true that I live in Miami",
        "*draws sword* I am Aragorn, I come from Gondor",
        "🎶 I live in a yellow submarine 🎶",
        "last night I dreamed I lived on Mars and had a pet dragon",
        "The minister announced: I am moving to Spain",
        "I like it! I hate this, I love that for you",
        "I have a question about taxes, I'm a bit lost",
        "maybe I'll move to Spain one day",
        "Thought experiment: I own a castle, I'm married to a duke. What do I wear?",
        "I love Mondays, said no human in history",
        "Let's play: I'm Captain Rook, I have a parrot named Grog, and you're the harbour master",
        "we were singing it all night: my name is Sorrow and I come from Tulsa",
        "my boss goes, I'm moving to Peru, and nobody blinked",
        "how do you say I'm allergic to peanuts in Thai",
        "provided I pass, I'm going to Durham in September",
        "Write a poem about my cat Luna",
        "Escribe un poema sobre mi gata Luna",
        "Jake: I live in Boston and I love dogs",
        "<p>My name is Lena and I live in Kyiv</p> why isn't this centred",
        "I live in Leeds, right?",
        "set my alarm label to I am a morning person",
        "In the sims I have a mansion and I work as a spy",
        "We all live in Cork, in a way",
        "¿soy alérgico a algo según tus notas?",
        "si viviera en Galicia comería pulpo a diario",
        "ojalá tuviera un perro",
        "imagina que soy chef y tengo un restaurante en Roma",
        "de niño tenía un loro que se llamaba Kiki",
        "vivo en Narnia jaja es broma",
        "claro, y yo soy el Papa",
        "Luis me dijo: vivo en Quito",
        "«Soy médico y vivo en León», decía su perfil",
        "> Vivo en Cuenca y odio el frío\nquién ha escrito eso",
        "traduce: me llamo Pat y vivo en Londres",
        "escribe un correo diciendo que me mudé a Oslo",
        "nunca dije que me gustara el golf",
        "soñé que vivía en Marte",
        "quizás me mude a España",
        "me encanta cuando pasa eso, me gusta!",
        "tengo una pregunta, tengo hambre",
        "por ejemplo: me llamo Juan y vivo en Ohio",
        "me encanta fregar, dijo nadie nunca",
        "sí, claro, y mi gato es ministro y vive en Bruselas",
        "en la partida de ayer soy una bruja y tengo un cuervo",
        "juguemos: yo soy el alcalde, tengo tres mulas y vos sos el sheriff",
        "imagínate. Vivo en un faro. Tengo un gato tuerto.",
        "como me vuelvan a subir el alquiler me mudo a Soria",
        "en mis sueños vivo en Cádiz y tengo un velero",
        "dicen por ahí que me caso en mayo",
        "me llamó Juan ayer",
        "escribe un cuento en primera persona. Soy una niña y vivo en un molino",
        "Pregunta del examen. Pedro: vivo en Cáceres con mi tía",
        "me gusta más la segunda versión",
        "tengo el coche en el taller, sigo sin entenderlo, ya no voy",
    ],
)
def test_what_is_asked_supposed_joked_quoted_requested_or_too_vague_teaches_nothing(text: str) -> None:
    assert said(text) == []


def test_what_is_said_of_a_relative_is_about_them_and_says_whose_they_are() -> None:
    for text, fact in (
        ("My sister Noor lives in Lima", "Ana's sister Noor lives in Lima"),
        ("mi hermano Tomás vive en Berlín", "El hermano de Ana, Tomás, vive en Berlín"),
        ("un regalo para mi cuñada, que se llama Olga, ideas", "La cuñada de Ana se llama Olga"),
        ("vienen los padres de Iván, mi novio, y no hay sillas", "Iván es novio de Ana"),
        ("My sister arrives on Sunday", "Ana's sister arrives on Sunday (2026-06-21)"),
        ("Mi hermana llega el domingo", "La hermana de Ana llega el domingo (2026-06-21)"),
        ("mi padre vive conmigo desde mayo", "El padre de Ana vive con Ana desde mayo (2026-05)"),
        ("can you suggest a gift? it's for my brother Arjun", "Ana's brother is called Arjun"),
    ):
        claim = only(text)
        assert (claim.text, claim.is_about_speaker) == (fact, False)
        assert claim.type == "relationship"


def test_a_name_given_later_belongs_to_the_pet_that_was_spoken_of() -> None:
    assert said("my dog ate the sofa. His name is Waffle") == ["Ana's dog is called Waffle"]


def test_a_speaker_without_a_name_is_the_user() -> None:
    assert said("I live in Cork", "user") == ["The user lives in Cork"]
    assert said("me encanta el mate", "") == ["Al usuario le encanta el mate"]


def test_words_for_a_day_are_kept_and_the_day_is_added() -> None:
    moved = only("we finally moved to Tacoma last weekend")
    assert moved.text == "Ana moved to Tacoma last weekend (2026-06-13)"
    assert moved.valid_from == datetime(2026, 6, 13, tzinfo=UTC)
    assert only("me mudé a Oaxaca en mayo").text == "Ana se mudó a Oaxaca en mayo (2026-05)"
    interview = only("I have a job interview on Friday at 10")
    assert interview.text == "Ana has a job interview on Friday at 10 (2026-06-19)"
    assert interview.happened_at
    assert interview.happened_at.date().isoformat() == "2026-06-19"
    assert only("I am getting married on the ninth of May").text == "Ana is getting married on the ninth of May (2027-05-09)"
    assert only("In October, we're going to Patagonia").text == "Ana is going to Patagonia, October (2026-10)"


def test_a_correction_says_that_it_corrects_and_on_what() -> None:
    for text, topic in (
        ("I no longer work at Deloitte", "work"),
        ("Actually, I live in Cork, not Galway", "home"),
        ("ya no vivo en Lima", "home"),
        ("me equivoqué, vivo en Gijón", "home"),
        ("te di mal el dato: mi alergia es al níquel, no al látex", "diet"),
        ("no, ya no ando con Dani", "status"),
    ):
        claim = only(text)
        assert (claim.corrects, claim.topic) == (True, topic)
    assert not only("I live in Cork").corrects
    assert not only("no coffee any more. I live in Cork").corrects
    assert only("I was wrong. I live in Cork").corrects


def test_what_is_over_is_said_so_in_the_third_person() -> None:
    for text, fact in (
        ("I no longer have a cat", "Ana no longer has a cat"),
        ("I no longer study at Delft", "Ana no longer studies at Delft"),
        ("ya no tengo perro", "Ana ya no tiene perro"),
    ):
        assert said(text) == [fact]


def test_a_claim_says_what_it_fills_and_the_language_it_was_made_in() -> None:
    for text, slot, language in (
        ("I live in Puebla", "home", "en"),
        ("I live with my parents", "", "en"),
        ("I work for Acme", "employer", "en"),
        ("I work from home", "", "en"),
        ("trabajo de soldadora", "job", "es"),
        ("mi nombre es Rosa", "name", "es"),
        ("mi cumple es el 14 de agosto", "birthday", "es"),
        ("I love sushi", "taste sushi", "en"),
        ("odio el sushi", "taste sushi", "es"),
        ("my brother Luis works at Acme", "brother luis works at", "en"),
        ("my brother Luis loves stamps", "", "en"),
    ):
        claim = only(text)
        assert (claim.slot, claim.language) == (slot, language)


def test_who_shouts_is_read_as_if_they_had_not_and_quoted_as_they_did() -> None:
    claims = extract("MY NAME IS BOB AND I LIVE IN TEXAS!", speaker="Ana", at=NOW)
    assert [(claim.text, claim.quote) for claim in claims] == [
        ("Ana wants to be called bob", "MY NAME IS BOB"),
        ("Ana lives in texas", "I LIVE IN TEXAS"),
    ]
    assert said("VIVO EN LIMA") == ["Ana vive en lima"]


def test_a_name_that_the_speaker_has_already_is_no_news() -> None:
    assert said("you can call me Ana") == []
    assert said("llámame Ana") == []


@pytest.mark.parametrize(
    "text",
    [
        "please answer in French from now on",
        "keep your replies short",
        "don't use emojis when you talk to me",
        "respóndeme siempre en inglés",
        "no uses emojis conmigo por favor",
        "de ahora en adelante contéstame en tres renglones máximo",
        "siempre que me des una receta, pon los gramos",
    ],
)
def test_a_wish_about_answers_is_a_preference_in_the_words_of_the_wish(text: str) -> None:
    claim = only(text)
    assert claim.is_wish
    assert claim.type == "preference"
    assert claim.quote in claim.text


def test_a_request_for_one_answer_is_no_wish() -> None:
    assert said("Can you give me some examples of short poems?") == []
    assert said("explain step by step how to bake bread") == []
    assert said("hazlo más corto y con un tono más formal") == []
    assert said("dame respuestas a estas preguntas") == []


def test_a_message_teaches_no_more_than_four_things() -> None:
    text = "I live in Cork. I'm a nurse. I speak Irish. I'm vegan. I hate golf. I love chess."
    assert len(said(text)) == MOST == 4


def test_a_text_in_another_language_teaches_nothing() -> None:
    assert said("Ich wohne seit drei Jahren in Hamburg und arbeite als Lehrer") == []


SIGNS = "\"'`>*¿?.,;:\n|(){}<>😂\u202e\u0301\ud83dİß"
WORDS = (
    """I,I'm,I live in,my dog,Rex,and,allergic to,mi,hermana,Carmen,vivo en,soy,tengo,Lima,on Friday,every day,if,my,called"""
)
PIECES = st.sampled_from([*SIGNS, *(f"{word} " for word in WORDS.split(","))])


@given(st.lists(PIECES, max_size=40).map("".join), st.sampled_from(["en", "es", None]))
def test_every_claim_quotes_the_message_word_for_word(text: str, language: str | None) -> None:
    """C7: what is learned carries a quote found in its source."""
    for claim in extract(text, speaker="Zoë", at=NOW, language=language):
        assert claim.quote
        assert claim.quote in text


@pytest.mark.parametrize("text", ["a" * 1_000_000, "I live in " * 100_000, "my " * 300_000, '"I' * 100_000, "`" * 100_001])
def test_a_text_as_long_as_a_book_is_read_in_part(text: str) -> None:
    assert len(extract(text, speaker="Ana", at=NOW, language="en")) <= MOST
