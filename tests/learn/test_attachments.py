"""What comes with a message, a picture or a document, is kept and found by what is to be seen there (K23)."""

from __future__ import annotations

import pytest

from reverie import BadInput
from tests.learn.told import ANA, LUIS, OWNER, facts, opened

CAMEL = {"type": "image", "caption": "a camel wearing sunglasses"}


@pytest.mark.parametrize("text", ["", " \n"])
def test_a_picture_without_words_is_kept_by_what_it_shows(home: str, text: str) -> None:
    with opened(home) as mind:
        turn = mind.observe(text, scope=ANA, attachments=[CAMEL, {"type": "pdf", "text": "camel hire"}], message_id="1")
        assert (turn.text, turn.title) == ("[a camel wearing sunglasses; camel hire]", None)
        assert [hit.memory.id for hit in mind.recall("sunglasses", scope=ANA).hits] == [turn.id]
        assert mind.recall("sunglasses", scope=LUIS).hits == ()
        told = mind.observe_many([{"content": "", "attachments": [CAMEL]}], scope=LUIS)
        assert (told.added, told.failed) == (1, 0)
        edited = mind.observe("my new friend", scope=ANA, attachments=[CAMEL], message_id="1")
        assert (edited.id, edited.text, edited.title, edited.trust) == (turn.id, "my new friend", CAMEL["caption"], "user")


def test_what_a_picture_shows_is_nobodys_word_and_teaches_nothing(home: str) -> None:
    """K23, R7: else a photographed note would speak as whoever sent it."""
    with opened(home) as mind:
        for trust in (None, "user"):
            turn = mind.observe("", scope=ANA, trust=trust, attachments=[{"caption": "I live in Lima"}])
            assert (turn.trust, turn.speaker) == ("tool", "ana-1")
        assert mind.observe("", scope=ANA, trust="web", attachments=[CAMEL]).trust == "web"
        mind.settle()
        assert (facts(mind), mind.quarantine(OWNER)) == ([], ())


@pytest.mark.parametrize("attachments", [[{"type": "image"}], [{"caption": " "}], ["a.png"]])
def test_a_picture_that_shows_nothing_needs_words(attachments: list[object]) -> None:
    with opened() as mind:
        with pytest.raises(BadInput, match="text is empty; say something to remember, or give an attachment a caption"):
            mind.observe("", attachments=attachments)
        assert mind.observe("look!", attachments=attachments).text == "look!"


@pytest.mark.parametrize(
    ("attachments", "says"),
    [
        ([object()], "what attachments holds does not fit into JSON: Object of type object"),
        ([{"text": "x" * 200_000}], r"what attachments holds takes 200,\d+ characters as JSON"),
        ([{"text": "\0"}], "there is a NUL character in attachments; remove it"),
    ],
)
def test_attachments_that_cannot_be_kept_are_named(attachments: list[object], says: str) -> None:
    with opened() as mind, pytest.raises(BadInput, match=says):
        mind.observe("look!", attachments=attachments)
