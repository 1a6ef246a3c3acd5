"""Texts are cut into the pieces that the model was trained on, hostile ones too."""

import time
import tracemalloc
from pathlib import Path

import pytest

import reverie_small
from reverie.errors import ModelError
from reverie.models.wordpiece import WordPiece

VOCABULARY = reverie_small.FOLDER / "vocab.txt"
MANY = "".join(chr(code) for code in range(0x1F000, 0x2F000))
PIECES = VOCABULARY.read_text("utf-8").splitlines()


@pytest.fixture(scope="module")
def cutter() -> WordPiece:
    return WordPiece(VOCABULARY)


def read(cutter: WordPiece, text: str, limit: int = 512) -> str:
    return " ".join(PIECES[number] for number in cutter.encode(text, limit))


# What the reference implementation (tokenizers 0.23, BertWordPieceTokenizer) gives for the same texts.
@pytest.mark.parametrize(
    ("text", "pieces"),
    [
        ("", ""),
        ("Ana moved to Oaxaca in May.", "ana moved to oaxaca in may ."),
        ("unaffable tokenization", "una ##ffa ##ble token ##ization"),
        ("Él comió jalapeños, ¿no?", "el com ##io ja ##la ##pen ##os , ¿ no ?"),
        ("İstanbul'da Straße Ærø", "istanbul ' da st ##raße æ ##r ##ø"),
        ("don't e-mail ana@example.com!", "don ' t e - mail ana @ example . com !"),
        ("我住在东京 ok", "我 [UNK] [UNK] [UNK] 京 ok"),
        ("こんにちは", "こ ##ん ##に ##ち ##は"),
        ("한국어", "ᄒ ##ᅡ ##ᆫ ##ᄀ ##ᅮ ##ᆨ ##ᄋ ##ᅥ"),
        ("ΑΣ", "α ##σ"),
        ("a\u200db\u00adc\x00d\ufffde", "abc ##de"),
        ("a\x0bb\tc\u2003d\u2028e\x85f", "ab c d e ##f"),
        ("\ue000\U000f0000", ""),
        ("\u0378", "[UNK]"),
        ("😀 fine", "[UNK] fine"),
        ("$5 + 3 = `8` ^ | ~", "$ 5 + 3 = ` 8 ` ^ | ~"),
        ("\u037e \u1fef", "; `"),
        ("e\u0301\u0302\u0303 x", "e x"),
        ("x" * 100, "xx" + " ##xx" * 49),
        ("x" * 101, "[UNK]"),
        ("(" + "x" * 101 + ")y", "( [UNK] ) y"),
    ],
)
def test_a_text_is_cut_as_the_original_cuts_it(cutter: WordPiece, text: str, pieces: str) -> None:
    assert read(cutter, text) == " ".join(f"[CLS] {pieces} [SEP]".split())


def test_names_of_special_pieces_in_a_text_are_words_like_others(cutter: WordPiece) -> None:
    assert read(cutter, "[SEP] ##ing [CLS]") == "[CLS] [ sep ] # # ing [ cl ##s ] [SEP]"


def test_half_a_character_is_left_out(cutter: WordPiece) -> None:
    assert cutter.encode("a\ud800b") == cutter.encode("ab")


@pytest.mark.parametrize("limit", [3, 4, 7, 512])
def test_a_long_text_is_cut_at_the_limit_and_still_ends(cutter: WordPiece, limit: int) -> None:
    whole = cutter.encode("unaffable Oaxaca " * 400, 100_000)
    cut = cutter.encode("unaffable Oaxaca " * 400, limit)
    assert cut == [*whole[: limit - 1], whole[-1]]


@pytest.mark.parametrize("piece", ["x", "é", "我", "a.b", "x" * 99 + " ", "\u0301", " ", "[", "q" * 101 + "-", MANY])
def test_a_megabyte_of_anything_is_cut_in_a_moment(cutter: WordPiece, piece: str) -> None:
    text = (piece * (1_000_000 // len(piece) + 1))[:1_000_000]
    started = time.process_time()
    assert len(cutter.encode(text)) <= 512
    assert time.process_time() - started < 1


def test_texts_of_very_many_characters_leave_little_in_memory() -> None:
    cutter = WordPiece(VOCABULARY)
    tracemalloc.start()
    try:
        for start in range(0x3400, 0xD400, 0x1000):
            cutter.encode("".join(chr(code) for code in range(start, start + 0x1000)))
        assert tracemalloc.get_traced_memory()[0] < 4_000_000
    finally:
        tracemalloc.stop()


def test_a_missing_vocabulary_is_named(tmp_path: Path) -> None:
    with pytest.raises(ModelError, match=r"cannot read the vocabulary .*vocab\.txt"):
        WordPiece(tmp_path / "vocab.txt")


def test_a_vocabulary_of_another_kind_of_model_is_refused(tmp_path: Path) -> None:
    (tmp_path / "vocab.txt").write_text("a\nb\n")
    with pytest.raises(ModelError, match=r"lacks '\[CLS\]'"):
        WordPiece(tmp_path / "vocab.txt")
