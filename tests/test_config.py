"""Settings: the file, the environment that wins over it, where each value came from, and changing one line of the file."""

import os
import stat
from collections.abc import Callable
from functools import partial
from pathlib import Path

import pytest

from reverie import BadInput, StoreError, config
from reverie.config import Settings, default_home, load, local_zone, put, unset, wants_colour

NOTHING: dict[str, str] = {}


def written(home: Path, text: str) -> Path:
    path = home / "reverie.toml"
    path.write_text(text, "utf-8")
    return path


def test_without_file_or_environment_the_defaults_hold(tmp_path: Path) -> None:
    settings = load(tmp_path, NOTHING)
    assert (settings.embedder, settings.space, settings.person, settings.budget) == ("local", "default", None, 2000)
    assert (settings.openai_url, settings.openai_key) == ("https://api.openai.com/v1", None)
    assert (settings.model, settings.daily_budget, settings.monthly_budget) == (None, 1.0, None)
    assert {settings.origin(name) for name in config.NAMES} == {"default"}


def test_every_setting_is_explained_and_has_a_variable() -> None:
    assert set(config.NAMES) == set(config.MEANING) == set(config.VARIABLES)


def test_the_file_is_read_and_each_value_knows_its_line(tmp_path: Path) -> None:
    path = written(tmp_path, '# mine\nspace = "guild-1"\n\nbudget = 500  # small\nzone = "America/Mexico_City"\n')
    settings = load(tmp_path, NOTHING)
    assert (settings.space, settings.budget, settings.zone) == ("guild-1", 500, "America/Mexico_City")
    assert settings.origin("space") == f"{path}:2"
    assert settings.origin("budget") == f"{path}:4"
    assert settings.origin("person") == "default"


@pytest.mark.parametrize(
    ("variable", "value", "name", "expected"),
    [
        ("REVERIE_EMBEDDER", "none", "embedder", "none"),
        ("REVERIE_OPENAI_URL", "http://127.0.0.1:9/v1", "openai_url", "http://127.0.0.1:9/v1"),
        ("REVERIE_OPENAI_KEY", "sk-1", "openai_key", "sk-1"),
        ("OPENAI_API_KEY", "sk-2", "openai_key", "sk-2"),
        ("REVERIE_ZONE", "Asia/Tokyo", "zone", "Asia/Tokyo"),
        ("REVERIE_SPACE", "other", "space", "other"),
        ("REVERIE_PERSON", "ana", "person", "ana"),
        ("REVERIE_BUDGET", "700", "budget", 700),
        ("REVERIE_MODEL", "ollama:qwen3", "model", "ollama:qwen3"),
        ("REVERIE_ANTHROPIC_KEY", "sk-1", "anthropic_key", "sk-1"),
        ("ANTHROPIC_API_KEY", "sk-2", "anthropic_key", "sk-2"),
        ("REVERIE_OLLAMA_URL", "http://127.0.0.1:9/v1", "ollama_url", "http://127.0.0.1:9/v1"),
        ("REVERIE_DAILY_BUDGET", "$2.50", "daily_budget", 2.5),
        ("REVERIE_MONTHLY_BUDGET", "20", "monthly_budget", 20.0),
    ],
)
def test_the_environment_wins(tmp_path: Path, variable: str, value: str, name: str, expected: object) -> None:
    written(tmp_path, 'embedder = "local"\nzone = "UTC"\nspace = "a"\nperson = "b"\nbudget = 1\nopenai_key = "sk-0"\n')
    settings = load(tmp_path, {variable: value})
    assert getattr(settings, name) == expected
    assert settings.origin(name) == variable


def test_a_variable_of_our_own_wins_over_the_shared_one_and_an_empty_one_is_not_set(tmp_path: Path) -> None:
    assert load(tmp_path, {"OPENAI_API_KEY": "sk-2", "REVERIE_OPENAI_KEY": "sk-1"}).openai_key == "sk-1"
    assert load(tmp_path, {"REVERIE_SPACE": ""}).space == "default"


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ('spcae = "x"\n', "reverie.toml:1: no setting named 'spcae'; nearest is 'space'"),
        ("\n\nbudget = 0\n", "reverie.toml:3: budget must be a whole number of at least 1"),
        ('budget = "many"\n', "reverie.toml:1: budget must be a whole number"),
        ("budget = true\n", "reverie.toml:1: budget must be a whole number"),
        ("space = 5\n", "reverie.toml:1: space must be a str, not int"),
        ('person = ""\n', "reverie.toml:1: person is empty"),
        ('zone = "Mars"\n', "reverie.toml:1: no time zone named 'Mars'"),
        ('openai_url = "ftp://x"\n', "reverie.toml:1: openai_url must start with http:// or https://"),
        ('[models]\nembedder = "local"\n', "reverie.toml:1: no setting named 'models'"),
        ('space = "a"\nspace = "b"\n', "reverie.toml:2: not TOML"),
        ("space = \n", "reverie.toml:1: not TOML"),
        ('openai_key = "sk\\u0007"\n', "reverie.toml:1: openai_key holds a character that no key has"),
        ("daily_budget = -1\n", "reverie.toml:1: daily_budget must be a number of dollars from 0 to 1,000,000, not -1"),
        ("daily_budget = nan\n", "reverie.toml:1: daily_budget must be a number of dollars"),
        ("monthly_budget = true\n", "reverie.toml:1: monthly_budget must be a number of dollars"),
        ('ollama_url = "localhost"\n', "reverie.toml:1: ollama_url must start with http:// or https://"),
    ],
)
def test_what_does_not_fit_is_refused_with_file_and_line(tmp_path: Path, text: str, complaint: str) -> None:
    written(tmp_path, text)
    with pytest.raises(BadInput) as caught:
        load(tmp_path, NOTHING)
    assert complaint in str(caught.value)


def test_a_wrong_variable_is_named(tmp_path: Path) -> None:
    with pytest.raises(BadInput, match=r"^environment variable REVERIE_BUDGET: budget must be a whole number, not 'x'"):
        load(tmp_path, {"REVERIE_BUDGET": "x"})


def test_a_file_that_is_no_text_is_refused(tmp_path: Path) -> None:
    (tmp_path / "reverie.toml").write_bytes(b'space = "caf\xe9"\n')
    with pytest.raises(BadInput, match="is not UTF-8"):
        load(tmp_path, NOTHING)
    (tmp_path / "reverie.toml").unlink()
    (tmp_path / "reverie.toml").mkdir()
    with pytest.raises(BadInput, match="cannot be read: Is a directory"):
        load(tmp_path, NOTHING)


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ("[" * 100_000, "reverie.toml:1: not TOML"),
        ("space = " + "[" * 100_000, "lists within lists, too deep to read"),
        ("budget = " + "9" * 5_000, "a number of thousands of digits"),
        ("budget = 0x" + "f" * 5_000, "reverie.toml:1: budget must be a whole number below 2**63"),
        ("a." * 2_000 + "a = 1", "reverie.toml:1: no setting named 'a'"),
    ],
)
def test_a_file_made_to_choke_on_is_refused_by_its_name(tmp_path: Path, text: str, complaint: str) -> None:
    path = written(tmp_path, text + "\n")
    with pytest.raises(BadInput) as caught:
        load(tmp_path, NOTHING)
    assert str(path) in str(caught.value)
    assert complaint in str(caught.value)
    with pytest.raises(BadInput):
        put(tmp_path, "zone", "UTC")
    assert path.read_text().startswith(text)


@pytest.mark.parametrize(
    "make", [os.mkfifo, os.mkdir, lambda path: path.symlink_to("/dev/zero"), lambda path: path.symlink_to(path)]
)
def test_what_is_no_file_is_refused_by_its_name_and_not_waited_for(tmp_path: Path, make: Callable[[Path], None]) -> None:
    path = tmp_path / "reverie.toml"
    make(path)
    for act in (partial(load, tmp_path, NOTHING), partial(put, tmp_path, "zone", "UTC"), partial(unset, tmp_path, "zone")):
        with pytest.raises(BadInput) as caught:
            act()
        assert str(path) in str(caught.value) or "/dev/zero" in str(caught.value)


@pytest.mark.parametrize("url", ["https://me:hunter2@host/v1", "ftp://me:hunter2@host", "https://host/v1?key=hunter2"])
def test_an_address_with_a_password_is_refused_without_showing_it(url: str) -> None:
    with pytest.raises(BadInput, match="openai_url must be an address alone") as caught:
        Settings(openai_url=url)
    assert "hunter2" not in str(caught.value)


def test_a_budget_of_very_many_digits_is_refused_in_one_line(tmp_path: Path) -> None:
    with pytest.raises(BadInput, match="budget must be a whole number") as caught:
        put(tmp_path, "budget", "9" * 5_000)
    assert len(str(caught.value)) < 200


def test_the_key_is_never_in_what_settings_print() -> None:
    assert "sk-secret" not in repr(Settings(openai_key="sk-secret", zone="UTC"))


def test_setting_a_value_keeps_every_other_line(tmp_path: Path) -> None:
    path = written(tmp_path, '# who I am\nperson = "ana"   # me\n\n# how much\nbudget=1000\nzone = "UTC"')
    put(tmp_path, "budget", "1_500")
    put(tmp_path, "person", "luis")
    settings = put(tmp_path, "space", 'a "quoted" name')
    assert path.read_text("utf-8") == (
        '# who I am\nperson = "luis"   # me\n\n# how much\nbudget = 1500\nzone = "UTC"\nspace = "a \\"quoted\\" name"\n'
    )
    assert (settings.person, settings.budget, settings.space) == ("luis", 1500, 'a "quoted" name')


def test_unsetting_takes_out_the_line_alone(tmp_path: Path) -> None:
    path = written(tmp_path, '# who\nperson = "ana"\nbudget = 9\n')
    assert unset(tmp_path, "person").person is None
    assert path.read_text("utf-8") == "# who\nbudget = 9\n"
    unset(tmp_path, "space")
    assert path.read_text("utf-8") == "# who\nbudget = 9\n"


def test_the_file_is_for_its_owner_alone_and_the_home_is_made(tmp_path: Path) -> None:
    home = tmp_path / "deep" / "home"
    put(home, "openai_key", "sk-1")
    assert stat.S_IMODE((home / "reverie.toml").stat().st_mode) == 0o600
    assert stat.S_IMODE(home.stat().st_mode) == 0o700
    assert sorted(path.name for path in home.iterdir()) == ["reverie.toml"]


def test_a_file_that_cannot_be_changed_line_by_line_is_left_alone(tmp_path: Path) -> None:
    text = 'space = """\nguild-1"""\n'
    path = written(tmp_path, text)
    with pytest.raises(BadInput, match="edit it by hand"):
        put(tmp_path, "space", "other")
    assert path.read_text("utf-8") == text


def test_a_value_that_does_not_fit_changes_nothing(tmp_path: Path) -> None:
    path = written(tmp_path, "budget = 9\n")
    for name, value in (("budget", "0"), ("zone", "Mars"), ("spcae", "x")):
        with pytest.raises(BadInput):
            put(tmp_path, name, value)
    assert path.read_text("utf-8") == "budget = 9\n"


@pytest.mark.skipif(os.geteuid() == 0, reason="the root user may write anywhere")
def test_a_home_that_cannot_be_written_is_named(tmp_path: Path) -> None:
    tmp_path.chmod(0o500)
    with pytest.raises(StoreError, match="could not be written"):
        put(tmp_path, "budget", "9")


def test_a_linked_file_is_changed_where_it_lies(tmp_path: Path) -> None:
    (tmp_path / "dotfiles").mkdir()
    (tmp_path / "home").mkdir()
    written(tmp_path / "dotfiles", "budget = 1\n")
    (tmp_path / "home" / "reverie.toml").symlink_to(tmp_path / "dotfiles" / "reverie.toml")
    put(tmp_path / "home", "budget", "2")
    assert (tmp_path / "home" / "reverie.toml").is_symlink()
    assert (tmp_path / "dotfiles" / "reverie.toml").read_text() == "budget = 2\n"


def test_the_zone_is_the_machines_where_it_can_be_told() -> None:
    assert local_zone({"TZ": "Asia/Tokyo"}) == "Asia/Tokyo"
    assert local_zone({"TZ": ":Europe/Madrid"}) == "Europe/Madrid"
    assert local_zone({"TZ": "nowhere"}) == local_zone(NOTHING)


def test_home_and_colours_come_from_the_environment() -> None:
    assert default_home({"REVERIE_HOME": "/srv/mind"}) == "/srv/mind"
    assert default_home(NOTHING) == "~/.reverie"
    assert wants_colour({"TERM": "xterm"})
    assert not wants_colour({"NO_COLOR": "1", "TERM": "xterm"})
    assert not wants_colour({"TERM": "dumb"})


def test_a_mind_in_memory_has_no_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / ":memory:").mkdir()
    written(tmp_path / ":memory:", 'space = "wrong"\n')
    assert load(":memory:", NOTHING).space == "default"
