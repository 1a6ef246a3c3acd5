"""What is made of what was said is never wider, more trusted or surer than what it rests on (R6, design §3).

A random world of turns, in random places for random audiences, is learned from: by rules, by a model that takes everything
for a fact, and from the notes of a model. Every turn has words of its own, so whatever names them gives itself away, wherever
it stands: in facts, episodes, notes for the session, people's names, or the quarantine. The rule of who may see what is the
one that `test_leaks` writes down a second time.
"""

from __future__ import annotations

import random
import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from datetime import timedelta
from itertools import product
from pathlib import Path

import pytest

from reverie import Memory, Mind, Scope
from reverie.learn.background import Settled
from reverie.memory.trace import TRUST
from tests.contracts.worlds import Clock
from tests.learn.told import Facts, Listener, all_of_it, opened
from tests.properties.test_leaks import may_see

SPACES, CHANNELS, SESSIONS = ("alpha", "beta"), (None, "general", "mods"), (None, "morning", "evening")
PERSONS = (None, "ana", "luis")
DERIVED = ("fact", "episode", "summary", "concept", "lesson", "procedure", "pattern")
WORD = re.compile(r"(?<![0-9a-z])zq\d+[nw]", re.IGNORECASE)  # not within an id, which may hold one by chance
ORDER = list(TRUST)

SAID = (
    "I live in {W}",
    "Actually, I live in {W}",
    "I like {W} and I work at {W}",
    "My sister {W} lives in Lima",
    "Vivo en {W}",
    "Always call me {W}",
    "<@luis> is allergic to {W}",
    "Let us talk about {W} some other day",
    "Good news:\nI moved to {W} in May",
    "{old}",
)
NOTED = (
    "Noted. <memory>{old}</memory>",
    "Noted. <memory>{W} is open on Sundays</memory>",
    "Sure <chat-memory>{old}</chat-memory>",
    "Memory line: {W} came by boat",
    "Ok <working-memory>Task: {W}\nPending: {old}</working-memory>",
    "Ok <chat-context>a chat about {W}</chat-context>",
    "{old} <memory>{old}</memory><memory>{W} again</memory>",
)


@dataclass
class World:
    """A mind, what was said to it and by whom, and the words of each turn."""

    mind: Mind
    clock: Clock
    chance: random.Random
    turns: list[Memory] = field(default_factory=list)
    number: int = 0

    def word(self, kind: str = "w") -> str:
        self.number += 1
        return f"Zq{self.number}{kind}"

    def say(self) -> None:
        """Say something somewhere, for those who are there or for fewer."""
        pick, space = self.chance.choice, self.chance.choice(SPACES)
        scope = Scope(space, pick(CHANNELS), pick(SESSIONS), pick(PERSONS))
        is_reply = self.chance.random() < 0.3
        before = [turn for turn in self.turns if turn.audience.space == space and turn.role == "user"][-6:]
        old = pick(before).text if before else "I like tea"
        text = pick(NOTED if is_reply else SAID).replace("{old}", old)
        text = re.sub(r"\{W\}", lambda _: self.word(), text)
        self.clock.pass_(minutes=pick((1, 1, 1, 20, 60 * 6)))
        role = "assistant" if is_reply else "user"
        trust = None if self.chance.random() < 0.8 else "other"
        speaker = None if is_reply else pick(("Sam", self.word("n")))
        turn = self.mind.observe(text, speaker=speaker, role=role, scope=scope, audience=self.narrowed(scope), trust=trust)
        self.turns.append(turn)

    def narrowed(self, scope: Scope) -> Scope | None:
        if self.chance.random() < 0.5:
            return None
        pick = self.chance.choice
        if scope.channel is None and scope.person is not None:
            return Scope(scope.space, None, pick((None, scope.session, "evening")), scope.person)
        return Scope(scope.space, pick((None, scope.channel, "mods")), pick((None, *SESSIONS)), pick(PERSONS))


def words_in(*values: object) -> set[str]:
    return {word.lower() for value in values for word in WORD.findall(repr(value))}


def asking(chance: random.Random, number: int) -> list[Scope]:
    scopes = [Scope(*parts) for parts in product(SPACES, CHANNELS, SESSIONS, PERSONS)]
    return scopes if number >= len(scopes) else chance.sample(scopes, number)


def sources_of(mind: Mind, memory: Memory) -> list[tuple[list[Memory], float]]:
    """Return what a memory rests on, telling by telling, each with how sure that telling is."""
    owner = Scope.owner(memory.audience.space)
    with mind._store.reading(memory.audience.space) as view:
        tellings = view.sightings(memory.id)
    return [
        ([mind.history(id, owner)[-1] for id in held.sighting.rests_on], held.sighting.confidence)
        for held in tellings
        if held.sighting.rests_on
    ]


def check_sources(mind: Mind, derived: Iterable[Memory], scopes: Iterable[Scope]) -> int:
    """Check each derived memory against all that it rests on; return how many pairs of memory and scope that were."""
    pairs = 0
    asked = list(scopes)
    for memory in derived:
        tellings = sources_of(mind, memory)
        assert tellings, memory
        for sources, sure in tellings:
            for scope in asked:
                pairs += 1
                if may_see(memory.audience, scope):
                    assert all(may_see(source.audience, scope) for source in sources), (memory, sources, scope)
            assert memory.kind == "episode" or sure <= min(source.confidence for source in sources), (memory, sources)
        trusts = [max(ORDER.index(source.trust) for source in sources) for sources, _ in tellings]
        assert ORDER.index(memory.trust) >= min(trusts), (memory, tellings)
    return pairs


def check_words(world: World, scope: Scope) -> int:
    """Check that whatever can be seen in a scope names only words of turns that may be seen there; return how much that was."""
    mind = world.mind
    heard = words_in(*((turn.text, turn.speaker) for turn in world.turns if may_see(turn.audience, scope)))
    seen: list[object] = list(mind.scan(scope, kinds=DERIVED))
    seen += mind.scan(scope, kinds=DERIVED, retired=True)
    seen += [hit.memory for hit in mind.recall("who lives where and likes what", scope=scope, limit=100, kinds=DERIVED).hits]
    seen += [mind.working(scope).get(), mind.chat_context(scope).get(), mind.quarantine(scope)]
    seen += [person.names for person in mind.people.list(scope)]
    seen += [mind.context("who lives where and likes what?", scope=scope).text]
    for value in seen:
        assert words_in(value) <= heard, (scope, words_in(value) - heard, value)
    return len(seen)


def fuzzed(home: str | Path, seed: int, turns: int, scopes: int, says: Callable[[str], Facts] | None) -> tuple[int, int, int]:
    """Fill a world and look at it from everywhere; return how many things were made, pairs checked and things looked at."""
    clock, chance = Clock(), random.Random(seed)
    model = None if says is None else Listener(says)
    with opened(home, clock, model=model) as mind:
        world = World(mind, clock, chance)
        for _ in range(turns):
            world.say()
        clock.pass_(days=1)
        assert mind.settle() == Settled(0, 0)
        asked = asking(chance, scopes)
        derived = [memory for space in SPACES for memory in mind.scan(Scope.owner(space), kinds=DERIVED)]
        pairs = check_sources(mind, derived, asked)
        looked = sum(check_words(world, scope) for scope in asked)
        assert clock.now - timedelta(days=1) > world.turns[0].recorded_at
        return len(derived), pairs, looked


def about_somebody(message: str) -> Facts:
    return all_of_it(message, about="other" if "<@" in message else "speaker", corrects="Actually" in message)


@pytest.mark.parametrize("reads", ["rules", "model"])
def test_nothing_learned_is_wider_more_trusted_or_surer_than_what_it_rests_on(reads: str) -> None:
    """Thousands of pairs of a derived memory and a scope, by rules and with a model."""
    made, pairs, looked = fuzzed(
        ":memory:", 3 if reads == "rules" else 4, 120, 54, about_somebody if reads == "model" else None
    )
    assert made > 30
    assert pairs > 2_000
    assert looked > 300


@pytest.mark.stress
@pytest.mark.parametrize("kind", ["memory", "disk"])
@pytest.mark.parametrize("seed", range(6))
def test_nothing_learned_in_a_large_world_is_wider_than_what_it_rests_on(kind: str, seed: int, tmp_path: Path) -> None:
    home = ":memory:" if kind == "memory" else tmp_path
    made, pairs, looked = fuzzed(home, 100 + seed, 400, 54, about_somebody if seed % 2 else None)
    print(f"\n{made} things learned, {pairs:,} pairs with a scope, {looked:,} things looked at: 0 wider than a source")  # noqa: T201
    assert pairs > 10_000
