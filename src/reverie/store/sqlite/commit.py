"""Writing a space: one commit, alone in its file until it ends."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from datetime import datetime
from typing import TYPE_CHECKING

from reverie.errors import NotFound
from reverie.memory.language import terms
from reverie.memory.scope import Scope
from reverie.memory.trace import MICROSECOND, Memory, Sighting, from_micros, micros, new_tail, stamped
from reverie.memory.working import State
from reverie.store.base import (
    JOBS,
    Dump,
    Held,
    Record,
    Vector,
    barred_by,
    check_vectors,
    indexed_text,
    kept_values,
    key_of,
    refusal,
)
from reverie.store.sqlite.schema import stream_of
from reverie.store.sqlite.view import Bind, Row, SqliteView, compact, state_key, write_source

if TYPE_CHECKING:
    import apsw

    from reverie.store.sqlite.connect import SpaceFile


class SqliteDraft(SqliteView):
    """A commit being written on the locked writer connection."""

    def __init__(self, file: SpaceFile, connection: apsw.Connection, secret: bytes, by: str, why: str, now: datetime) -> None:
        super().__init__(file, connection)
        # One look for all that nearly every commit would ask one by one.
        (last_seq, last_at, epoch, self._any_erased, self._any_people), *_ = self.rows(
            "SELECT (SELECT max(seq) FROM commits), (SELECT at FROM commits ORDER BY seq DESC LIMIT 1),"
            " (SELECT value FROM meta WHERE name = 'epoch'),"
            " EXISTS (SELECT 1 FROM tombstones), EXISTS (SELECT 1 FROM state WHERE kind = 'person')"
        )
        if epoch != file.scopes_epoch:  # an erase may have taken scopes away
            file.scopes, file.scopes_epoch = {}, epoch
        self.seq_now = (last_seq or 0) + 1
        self.at = now if last_at is None else max(now, from_micros(last_at) + MICROSECOND)
        self.commit_tail = new_tail(self.at)
        self.changed = False
        self.secret, self._by, self._why = secret, by, why
        self._ordinal = 0
        self._scopes: dict[Scope, int] = {}

    @property
    def commit_id(self) -> str | None:
        return self.full("c", self.commit_tail) if self.changed else None

    def state(self, kind: str, place: Scope, name: str = "") -> State | None:
        return None if kind == "person" and not self._any_people else super().state(kind, place, name)

    def begin(self) -> None:
        """Write the commit's own row, once something is to belong to it."""
        if not self.changed:
            self.changed = True
            self.rows(
                "INSERT INTO commits VALUES(?, ?, ?, ?, ?)",
                (self.seq_now, self.commit_tail, micros(self.at), self._by, self._why),
            )

    def add(self, memory: Memory, job: str | None = None) -> Memory:
        if self.is_barred(memory) and not self._says_already(memory):
            raise refusal(memory)
        self.begin()
        version = memory.version if memory.id else 1
        if memory.id:
            last = self.rows("SELECT version FROM versions WHERE id = ? ORDER BY version DESC LIMIT 1", (self.tail(memory.id),))
            if last:
                version = last[0][0] + 1
                self._retire(memory.id)
        id = memory.id or self.full("m", new_tail(self.at, self._ordinal))
        memory = stamped(memory, id, version, self.at, self.full("c", self.commit_tail))
        self._ordinal += 1
        self.insert(Record(memory, key_of(memory), self.seq_now, None), job)
        return memory

    def _says_already(self, memory: Memory) -> bool:
        """Tell whether an earlier version has the same text: an erase that spared it does not keep it from being changed."""
        earlier = "SELECT EXISTS (SELECT 1 FROM versions JOIN texts USING(v) WHERE id = ? AND text = ?)"
        return bool(memory.id and self.value(earlier, (self.tail(memory.id), memory.text)))

    def is_barred(self, memory: Memory) -> bool:
        """Tell whether a memory was erased here."""
        if not self._any_erased:
            return False
        marks = barred_by(self.secret, memory)
        return bool(self.value(f"SELECT EXISTS (SELECT 1 FROM tombstones WHERE mark IN ({','.join('?' * len(marks))}))", marks))

    def insert(self, record: Record, job: str | None = None) -> None:
        """Write a version's rows and its words."""
        memory = record.memory
        self.rows(
            "INSERT INTO versions(id, version, kind, audience, origin, subject, trust, confidence, pinned, happened,"
            " valid_from, valid_until, added_seq, retired_seq, key, stream, job)"
            " VALUES(?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
            (
                self.tail(memory.id), memory.version, memory.kind, self._scope(memory.audience), self._scope(memory.origin),
                memory.subject, memory.trust, memory.confidence, int(memory.pinned), _micros(memory.happened_at),
                _micros(memory.valid_from), _micros(memory.valid_until), record.added_seq, record.retired_seq, record.key,
                stream_of(memory.origin.channel, memory.origin.session) if memory.kind == "turn" else None,
                None if job is None else JOBS.index(job) + 1,
            ),
        )  # fmt: skip
        v = self._connection.last_insert_rowid()
        self.rows(
            "INSERT INTO texts VALUES(?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
            (
                v, memory.text, memory.title, _json(memory.tags), _json(memory.extra), memory.speaker, memory.role,
                memory.message_id, memory.reply_to, write_source(memory.source), _json(memory.replaces),
            ),
        )  # fmt: skip
        table = "words_now" if record.retired_seq is None else "words_past"
        self.rows(f"INSERT INTO {table}(rowid, terms) VALUES(?, ?)", (v, " ".join(terms(indexed_text(memory)))))

    def _scope(self, scope: Scope) -> int:
        """Return the number of a scope. One made in this commit is not kept beyond it: the commit may yet fail."""
        known = self._scopes.get(scope) or self._file.scopes.get(scope)
        if known is None:
            parts = (scope.channel, scope.session, scope.person)
            known = self.value(
                "SELECT n FROM scopes WHERE ifnull(channel, '') = ? AND ifnull(session, '') = ? AND ifnull(person, '') = ?",
                tuple(part or "" for part in parts),
            )
            if known is not None:
                self._file.scopes[scope] = known
            else:
                self.rows("INSERT INTO scopes(channel, session, person) VALUES(?, ?, ?)", parts)
                known = self._connection.last_insert_rowid()
                self._scopes[scope] = known
        return known

    def retire(self, id: str) -> None:
        if not self._retire(id):
            raise NotFound(f"no memory {id!r} here; it may be forgotten already")

    def _retire(self, id: str) -> bool:
        active = self.rows("SELECT v FROM versions WHERE id = ? AND retired_seq IS NULL", (self.tail(id),))
        if not active:
            return False
        self.begin()
        v = active[0][0]
        memory = self.fetch([v])[0]
        self.rows("UPDATE versions SET retired_seq = ? WHERE v = ?", (self.seq_now, v))
        self.rows("DELETE FROM words_now WHERE rowid = ?", (v,))
        self.rows("INSERT INTO words_past(rowid, terms) VALUES(?, ?)", (v, " ".join(terms(indexed_text(memory)))))
        self.drop_vectors("vec IN (SELECT vec FROM vector_uses WHERE v = ?)", (v,))
        return True

    def set_job(self, turns: Iterable[tuple[str, int]], job: str | None) -> None:
        self.rows(
            "UPDATE versions SET job = ? WHERE (id, version) IN (SELECT value ->> 0, value ->> 1 FROM json_each(?))",
            (None if job is None else JOBS.index(job) + 1, json.dumps([(self.tail(id), version) for id, version in turns])),
        )

    def sight(self, id: str, key: bytes, sighting: Sighting) -> None:
        self.begin()
        self.insert_sighting(Held(id, key, self.seq_now, None, sighting))

    def insert_sighting(self, held: Held) -> None:
        """Write a sighting and what it rests on."""
        sighting = held.sighting
        self.rows(
            "INSERT INTO sightings(id, key, seq, retired_seq, source, rests_on, at, confidence, voice)"
            " VALUES(?, ?, ?, ?, ?, ?, ?, ?, ?)",
            (
                self.tail(held.id), held.key, held.seq, held.retired_seq, write_source(sighting.source),
                _json(sighting.rests_on), micros(sighting.at), sighting.confidence, sighting.voice or None,
            ),
        )  # fmt: skip
        s = self._connection.last_insert_rowid()
        for ref in set(sighting.rests_on):
            self.rows("INSERT INTO cites VALUES(?, ?)", (ref, s))

    def retire_sightings(self, held: Iterable[Held]) -> None:
        going = [row[0] for one in held for row in self.rows_of(one)]
        if going:
            self.begin()
            for s in going:
                self.rows("UPDATE sightings SET retired_seq = ? WHERE s = ? AND retired_seq IS NULL", (self.seq_now, s))

    def rows_of(self, held: Held) -> list[Row]:
        """Return the numbers of the rows that hold a sighting."""
        return self.rows(
            "SELECT s FROM sightings WHERE id = ? AND key = ? AND seq = ? AND source IS ? AND at = ?",
            (self.tail(held.id), held.key, held.seq, write_source(held.sighting.source), micros(held.sighting.at)),
        )

    # beside the commits

    def put_state(self, entries: Sequence[State], remove: Sequence[State] = ()) -> None:
        self._any_people = self._any_people or any(state.kind == "person" for state in entries)
        for state in remove:
            self.rows(
                "DELETE FROM state WHERE kind = ? AND channel = ? AND session = ? AND person = ? AND name = ?",
                state_key(state.kind, state.place, state.name),
            )
        for state in entries:
            self.rows(
                "INSERT OR REPLACE INTO state VALUES(?, ?, ?, ?, ?, ?, ?)",
                (
                    *state_key(state.kind, state.place, state.name),
                    json.dumps(dict(state.value), ensure_ascii=False),
                    micros(state.updated_at),
                ),
            )

    def put_vectors(self, model: str, vectors: Sequence[Vector]) -> int:
        """Keep vectors of versions that are still there."""
        import numpy as np

        check_vectors(vectors)
        if not vectors:
            return 0
        self.rows("INSERT OR IGNORE INTO models(name, length) VALUES(?, ?)", (model, len(vectors[0].values)))
        number, length = self.rows("SELECT model, length FROM models WHERE name = ?", (model,))[0]
        count = 0
        for vector in vectors:
            data = kept_values(vector, length).astype(np.float16).tobytes()
            v = self._version(vector.id, vector.version)
            if v is None:
                continue
            uses = [self._version(id, version, " AND retired_seq IS NULL") for id, version in vector.uses]
            place, its = "v = ? AND part = ? AND model = ?", (v, vector.part, number)
            if None in uses:
                self.drop_vectors(place, its)
                continue
            self._take_vectors(place, its)  # a cache sees by the new row that the old one is gone
            self.rows("INSERT INTO vectors(v, part, model, data) VALUES(?, ?, ?, ?)", (*its, data))
            vec = self._connection.last_insert_rowid()
            for used in uses:
                self.rows("INSERT OR IGNORE INTO vector_uses VALUES(?, ?)", (used, vec))
            count += 1
        condition, bind = self._lacking(model)
        first = self.value(f"SELECT m.added_seq FROM versions m WHERE {condition} ORDER BY m.added_seq LIMIT 1", bind)
        upto = self.seq_now - 1 if first is None else first - 1
        self.rows("UPDATE models SET upto = max(upto, ?) WHERE model = ?", (upto, number))
        return count

    def _version(self, id: str, version: int, condition: str = "") -> int | None:
        found: int | None = self.value(
            f"SELECT v FROM versions WHERE id = ? AND version = ?{condition}", (self.tail(id), version)
        )
        return found

    def drop_vectors(self, condition: str, bind: Sequence[Bind]) -> int:
        """Take vectors away, so that every cache of them is read again and what stays without is known; return how many."""
        gone = self._take_vectors(condition, bind)
        for v, model in gone:
            added = "SELECT added_seq - 1 FROM versions WHERE v = ?"
            self.rows(f"UPDATE models SET upto = min(upto, ifnull(({added}), upto)) WHERE model = ?", (v, model))
        if gone:
            self.rows("UPDATE meta SET value = value + 1 WHERE name = 'epoch'")
        return len(gone)

    def _take_vectors(self, condition: str, bind: Sequence[Bind]) -> list[Row]:
        going = self.rows(f"SELECT vec, v, model FROM vectors WHERE {condition}", bind)
        for vec, *_ in going:
            self.rows("DELETE FROM vectors WHERE vec = ?", (vec,))
            self.rows("DELETE FROM vector_uses WHERE vec = ?", (vec,))
        return [(v, model) for _, v, model in going]

    def restore(self, dump: Dump) -> bool:
        """Fill an empty file from a dump."""
        if self.value("SELECT EXISTS (SELECT 1 FROM commits) OR EXISTS (SELECT 1 FROM state)"):
            return False
        for commit in dump.commits:
            self.rows(
                "INSERT INTO commits VALUES(?, ?, ?, ?, ?)",
                (commit.seq, commit.id.rpartition("-")[2], micros(commit.at), commit.by, commit.why),
            )
        for record in dump.records:
            self.insert(record)
        for held in dump.sightings:
            self.insert_sighting(held)
        self.put_state(dump.states, ())
        return True


def _micros(moment: datetime | None) -> int | None:
    return None if moment is None else micros(moment)


def _json(value: object) -> str | None:
    """Return JSON; None for what is empty, so that plain rows stay small."""
    return compact(value) if value else None
