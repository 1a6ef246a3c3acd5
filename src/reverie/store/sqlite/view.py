"""Reading a space: every question is one snapshot, and every query decides by itself who may see what."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from dataclasses import replace
from datetime import datetime
from functools import lru_cache
from typing import TYPE_CHECKING, Any

from reverie.memory.check import COUNT_LIMIT
from reverie.memory.language import Query
from reverie.memory.scope import Scope
from reverie.memory.trace import Commit, Memory, Sighting, Source, effective_confidence, from_micros, micros
from reverie.memory.working import State
from reverie.store.base import (
    JOBS,
    Around,
    Beside,
    Held,
    Match,
    Near,
    Outline,
    Record,
    Touched,
    Where,
    searchable,
    unit,
)
from reverie.store.sqlite.vectors import Cache, half_floats

if TYPE_CHECKING:
    import apsw

    from reverie.store.base import Floats
    from reverie.store.sqlite.connect import SpaceFile

Bind = str | int | float | bytes | None
Row = tuple[Any, ...]

PHRASES = 500  # in one full-text query

_RECORD = """
SELECT m.v, m.id, m.version, m.kind, m.subject, m.trust, m.confidence, m.pinned, m.happened, m.valid_from, m.valid_until,
    m.added_seq, m.retired_seq, m.key, t.text, t.title, t.tags, t.extra, t.speaker, t.role, t.message_id, t.reply_to,
    t.source, t.replaces, o.channel, o.session, o.person, a.channel, a.session, a.person, c.id, c.at, r.at
FROM versions m JOIN texts t ON t.v = m.v JOIN scopes o ON o.n = m.origin JOIN scopes a ON a.n = m.audience
    JOIN commits c ON c.seq = m.added_seq LEFT JOIN commits r ON r.seq = m.retired_seq
"""


class SqliteView:
    """One space as it stands when the transaction of `connection` began."""

    def __init__(self, file: SpaceFile, connection: apsw.Connection) -> None:
        self.space = file.space
        self._file = file
        self._connection = connection

    def rows(self, sql: str, bind: Sequence[Bind] = ()) -> list[Row]:
        """Run a query to its end; a cursor left half read would keep an erase from finishing."""
        return self._connection.execute(sql, tuple(bind)).fetchall()

    def value(self, sql: str, bind: Sequence[Bind] = ()) -> Any:
        """Return the first value of the first row, or None."""
        rows = self.rows(sql, bind)
        return rows[0][0] if rows else None

    # names of things: the file keeps the tails of ids, which name this space anyway

    def full(self, letter: str, tail: str) -> str:
        return f"{letter}-{self._file.mark}-{tail}"

    def tail(self, id: str, letter: str = "m") -> str:
        """Return what the file knows an id by; anything but an id of this space becomes what is never found."""
        prefix = f"{letter}-{self._file.mark}-"
        return id[len(prefix) :] if id.startswith(prefix) else f"-{id}"

    # commits

    def seq_of(self, moment: datetime) -> int:
        return int(self.value("SELECT max(seq) FROM commits WHERE at <= ?", (micros(moment),)) or 0)

    def last_seq(self) -> int:
        return int(self.value("SELECT max(seq) FROM commits") or 0)

    def find_commit(self, id: str, scope: Scope) -> Commit | None:
        found = self._commits(scope, "id = ?", (self.tail(id, "c"),), 1)
        return found[0] if found else None

    def commits(self, scope: Scope, since: datetime | None = None, limit: int | None = None) -> list[Commit]:
        return self._commits(scope, "at >= ?", (micros(since),), limit) if since else self._commits(scope, "1", (), limit)

    def _commits(self, scope: Scope, condition: str, bind: Sequence[Bind], limit: int | None) -> list[Commit]:
        seen, who = _seen_by(scope, "m.audience")
        if scope.sees_all:
            numbered = "SELECT seq, seq AS number, id, at, by, why FROM commits"
            shown: tuple[Bind, ...] = ()
        else:
            numbered = f"""
                SELECT seq, row_number() OVER (ORDER BY seq) AS number, id, at, by, why FROM commits WHERE seq IN (
                    SELECT added_seq FROM versions m WHERE {seen}
                    UNION SELECT retired_seq FROM versions m WHERE retired_seq IS NOT NULL AND {seen}
                    UNION SELECT seq FROM sightings WHERE id IN (SELECT id FROM versions m WHERE {seen})
                    UNION SELECT retired_seq FROM sightings
                        WHERE retired_seq IS NOT NULL AND id IN (SELECT id FROM versions m WHERE {seen}))"""
            shown = (*who, *who, *who, *who)
        rows = self.rows(
            f"SELECT * FROM ({numbered}) WHERE {condition} ORDER BY seq DESC LIMIT ?",
            (*shown, *bind, -1 if limit is None else limit),
        )
        return [
            Commit(
                self.full("c", id), number, from_micros(at), by, why,
                self._members("added_seq", seq, seen, who), self._members("retired_seq", seq, seen, who),
                tuple(self.full("m", row[0]) for row in self.rows("SELECT id FROM gone WHERE seq = ? ORDER BY id", (seq,)))
                if scope.sees_all else (),
            )
            for seq, number, id, at, by, why in rows
        ]  # fmt: skip

    def all_commits(self) -> list[Commit]:
        """Return every commit, oldest first, without its members."""
        rows = self.rows("SELECT id, seq, at, by, why FROM commits ORDER BY seq")
        return [Commit(self.full("c", id), seq, from_micros(at), by, why) for id, seq, at, by, why in rows]

    def _members(self, column: str, seq: Bind, seen: str, who: Sequence[Bind]) -> tuple[str, ...]:
        net = "retired_seq IS NOT added_seq"  # what came and went in one commit was never there
        rows = self.rows(f"SELECT id FROM versions m WHERE {column} = ? AND {net} AND {seen} ORDER BY v", (seq, *who))
        return tuple(self.full("m", row[0]) for row in rows)

    def seq(self, commit: str) -> int:
        return int(self.value("SELECT seq FROM commits WHERE id = ?", (self.tail(commit, "c"),)) or 0)

    def touched(self, commit: str, scope: Scope) -> list[Touched]:
        seq, net = self.seq(commit), "retired_seq IS NOT added_seq"
        seen, who = _seen_by(scope, "m.audience")
        added: dict[str, int] = dict(
            self.rows(f"SELECT id, version FROM versions m WHERE added_seq = ? AND {net} AND {seen} ORDER BY v", (seq, *who))
        )
        retired: dict[str, int] = dict(
            self.rows(f"SELECT id, version FROM versions m WHERE retired_seq = ? AND {net} AND {seen} ORDER BY v", (seq, *who))
        )
        sighted = self.rows(
            "SELECT id FROM sightings WHERE (retired_seq = ? OR (seq = ? AND retired_seq IS NULL))"
            f" AND id IN (SELECT id FROM versions m WHERE {seen}) ORDER BY s",
            (seq, seq, *who),
        )
        tails = dict.fromkeys([*added, *retired, *(row[0] for row in sighted)])
        return [Touched(self.full("m", tail), added.get(tail), retired.get(tail)) for tail in tails]

    def commits_after(self, commit: str, ids: Iterable[str]) -> list[str]:
        tails = json.dumps([self.tail(id) for id in ids])
        seq = self.seq(commit)
        rows = self.rows(
            "SELECT id FROM commits WHERE seq IN (SELECT added_seq FROM versions"
            " WHERE added_seq > ? AND id IN (SELECT value FROM json_each(?)) UNION SELECT retired_seq FROM versions"
            " WHERE retired_seq > ? AND id IN (SELECT value FROM json_each(?))) ORDER BY seq DESC",
            (seq, tails, seq, tails),
        )
        return [self.full("c", row[0]) for row in rows]

    def said_after(self, id: str) -> list[tuple[Scope, Scope, datetime]]:
        rows = self.rows(
            "SELECT o.channel, o.session, o.person, a.channel, a.session, a.person, min(ifnull(m.happened, c.at))"
            " FROM versions m JOIN commits c ON c.seq = m.added_seq JOIN scopes o ON o.n = m.origin"
            " JOIN scopes a ON a.n = m.audience WHERE m.id > ? AND m.kind = 'turn' AND m.retired_seq IS NULL"
            " GROUP BY m.origin, m.audience",
            (self.tail(id),),
        )
        return [(_scope(self.space, *row[:3]), _scope(self.space, *row[3:6]), from_micros(row[6])) for row in rows]

    def reasons_since(self, seq: int) -> set[str]:
        return {row[0] for row in self.rows("SELECT DISTINCT why FROM commits WHERE seq > ?", (seq,))}

    def changed_between(self, start: int, end: int, scope: Scope) -> list[str]:
        seen, who = _seen_by(scope, "audience")
        rows = self.rows(
            f"SELECT id FROM versions WHERE added_seq > ? AND added_seq <= ? AND {seen}"
            f" UNION SELECT id FROM versions WHERE retired_seq > ? AND retired_seq <= ? AND {seen} ORDER BY id",
            (start, end, *who, start, end, *who),
        )
        return [self.full("m", row[0]) for row in rows]

    # memories

    def records(self, condition: str, bind: Sequence[Bind] = (), order: str = "m.v") -> list[Record]:
        """Return versions as kept."""
        return [self._record(row) for row in self.rows(f"{_RECORD} WHERE {condition} ORDER BY {order}", bind)]

    def _record(self, row: Row) -> Record:
        memory = Memory(
            id=self.full("m", row[1]),
            version=row[2],
            kind=row[3],
            text=row[14],
            origin=_scope(self.space, row[24], row[25], row[26]),
            audience=_scope(self.space, row[27], row[28], row[29]),
            trust=row[5],
            confidence=row[6],
            recorded_at=from_micros(row[31]),
            commit=self.full("c", row[30]),
            title=row[15],
            tags=tuple(json.loads(row[16])) if row[16] else (),
            extra=json.loads(row[17]) if row[17] else {},
            speaker=row[18],
            role=row[19],
            message_id=row[20],
            reply_to=row[21],
            subject=row[4],
            source=read_source(row[22]),
            pinned=bool(row[7]),
            happened_at=_moment(row[8]),
            valid_from=_moment(row[9]),
            valid_until=_moment(row[10]),
            retired_at=_moment(row[32]),
            replaces=tuple(json.loads(row[23])) if row[23] else (),
        )
        return Record(memory, row[13], row[11], row[12])

    def _shown(self, records: Sequence[Record], at: int | None) -> list[Memory]:
        sure = self._confidences([r for r in records if r.memory.kind != "turn"], at)
        return [
            _with(
                record.memory,
                effective_confidence(record.memory.trust, found)
                if (found := sure.get((record.memory.id, record.key)))
                else None,
                at is not None and record.retired_seq is not None and record.retired_seq > at,
            )
            for record in records
        ]

    def _confidences(self, records: Sequence[Record], at: int | None) -> dict[tuple[str, bytes | None], list[Sighting]]:
        found: dict[tuple[str, bytes | None], list[Sighting]] = {}
        for start in range(0, len(records), 500):
            tails = [self.tail(record.memory.id) for record in records[start : start + 500]]
            when = (
                "retired_seq IS NULL"
                if at is None
                else f"seq <= {int(at)} AND (retired_seq IS NULL OR retired_seq > {int(at)})"
            )
            for held in self.held(f"id IN ({','.join('?' * len(tails))}) AND {when}", tails):
                found.setdefault((held.id, held.key), []).append(held.sighting)
        return found

    def history(self, id: str, scope: Scope) -> list[Memory]:
        seen, who = _seen_by(scope, "m.audience")
        return self._shown(self.records(f"m.id = ? AND {seen}", (self.tail(id), *who), "m.version"), None)

    def get(self, id: str, where: Where) -> Memory | None:
        condition, bind = _fitting(where)
        found = self._shown(self.records(f"m.id = ? AND {condition}", (self.tail(id), *bind)), where.at)
        return found[-1] if found else None

    def known(self, ids: Iterable[str]) -> list[str]:
        """Return those of `ids` that are here, whoever may see them."""
        tails = json.dumps([self.tail(id) for id in ids])
        rows = self.rows("SELECT DISTINCT id FROM versions WHERE id IN (SELECT value FROM json_each(?))", (tails,))
        return [self.full("m", row[0]) for row in rows]

    def scan(self, where: Where, after: str | None = None, limit: int | None = None) -> list[Memory]:
        condition, bind = _fitting(where)
        if after is not None:
            condition, bind = f"m.id > ? AND {condition}", [self.tail(after), *bind]
        order = f"m.id LIMIT {-1 if limit is None else int(limit)}"
        return self._shown(self.records(condition, bind, order), where.at)

    def newest(self, where: Where, limit: int) -> list[Match]:
        condition, bind = _fitting(where)
        rows = self.rows(
            f"SELECT m.v FROM versions m JOIN commits c ON c.seq = m.added_seq WHERE {condition}"
            " ORDER BY ifnull(m.happened, c.at) DESC, m.id DESC LIMIT ?",
            (*bind, limit),
        )
        return [Match(row[0], 0.0) for row in rows]

    def count(self, where: Where) -> dict[str, int]:
        condition, bind = _fitting(where)
        rows = self.rows(f"SELECT m.kind, count(*) FROM versions m WHERE {condition} GROUP BY m.kind", bind)
        return dict(rows)

    def find_key(self, key: bytes) -> list[Record]:
        # Nearly always there is none: asked for alone this takes a tenth of the time that the whole record does.
        known = self.rows("SELECT retired_seq IS NOT NULL, -max(v) FROM versions WHERE key = ? GROUP BY id", (key,))
        return [self.records("m.v = ?", (-v,))[0] for _, v in sorted(known)]

    def fetch(self, keys: Sequence[int], at: int | None = None) -> list[Memory]:
        rows: dict[Bind, Row] = {}
        for start in range(0, len(keys), 500):
            some = keys[start : start + 500]
            rows.update((row[0], row) for row in self.rows(f"{_RECORD} WHERE m.v IN ({','.join('?' * len(some))})", some))
        return self._shown([self._record(rows[key]) for key in keys], at)

    # looking

    def search_words(self, query: Query, where: Where, limit: int, now: datetime) -> list[Match]:
        asked = _match(query)
        condition, bind = _fitting(where)
        if len(asked) == 1 and where == Where(where.scope, where.kinds) and self._sees_most(where.scope):
            # The best by their words, then who may see them and until when they hold: with enough such among them, nothing
            # else can come before. Among 100,000 memories this takes half the time; where few are visible, twice.
            most = min(limit + max(limit // 4, 16), COUNT_LIMIT)
            found = self.rows(
                "SELECT rowid AS v, -bm25(words_now) AS score FROM words_now WHERE words_now MATCH ?"
                " ORDER BY score DESC, v DESC LIMIT ?",
                (asked[0], most),
            )
            past: dict[int, int] = dict(
                self.rows(
                    "SELECT m.v, m.valid_until IS NOT NULL AND m.valid_until <= ? FROM json_each(?) best"
                    f" CROSS JOIN versions m ON m.v = best.value WHERE {condition}",
                    (micros(now), json.dumps([v for v, _ in found]), *bind),
                )
            )
            seen = [row for row in found if row[0] in past]
            if any(past.values()):
                seen.sort(key=lambda row: past[row[0]])  # what no longer holds comes after what does
            if len(found) < most or (len(seen) >= limit and not past[seen[limit - 1][0]]):
                return list(map(Match._make, seen[:limit]))
        best: list[Match] = []
        for table in ("words_now", "words_past") if where.at is not None or where.ever else ("words_now",):
            scores: dict[tuple[int, int], float] = {}
            for match in asked:
                # CROSS JOIN keeps SQLite from walking the memories and asking the index about each.
                for over, score, v in self.rows(
                    f"SELECT (m.valid_until IS NOT NULL AND m.valid_until <= ?) AS over, bm25({table}) AS score, m.v"
                    f" FROM {table} CROSS JOIN versions m ON m.v = {table}.rowid"
                    f" WHERE {table} MATCH ? AND {condition} ORDER BY over, score, m.v DESC LIMIT ?",
                    (micros(now), match, *bind, limit if len(asked) == 1 else -1),
                ):
                    scores[over, v] = scores.get((over, v), 0.0) + score
            ranked = sorted(scores.items(), key=lambda pair: (pair[0][0], pair[1], -pair[0][1]))
            best += [Match(v, -score) for (_, v), score in ranked[:limit]]
        return best

    def _sees_most(self, scope: Scope) -> bool:
        """Tell whether at least half of the newest memories are visible in a scope."""
        seen, who = _seen_by(scope, "audience")
        newest = "SELECT audience FROM versions ORDER BY v DESC LIMIT 64"
        return scope.sees_all or bool(self.value(f"SELECT 2 * total({seen}) >= count(*) FROM ({newest})", who))

    def counts(self, terms: Sequence[str], where: Where) -> tuple[int, dict[str, int]]:
        if where.at is not None:
            return self._counts_then(terms, where.at)
        total, found = 0, dict.fromkeys(terms, 0)
        for part in ("now", "past") if where.ever else ("now",):
            total += self.value(f"SELECT count(*) FROM words_{part}_docsize")
            for start in range(0, len(terms), PHRASES):
                some = terms[start : start + PHRASES]
                asked = f"SELECT term, doc FROM vocabulary_{part} WHERE term IN ({','.join('?' * len(some))})"
                for term, documents in self.rows(asked, some):
                    found[term] += documents
        return total, found

    def _counts_then(self, terms: Sequence[str], at: int) -> tuple[int, dict[str, int]]:
        """Count what was believed at a moment, whatever came since."""
        then = "m.added_seq <= ? AND (m.retired_seq IS NULL OR m.retired_seq > ?)"
        found = {
            term: sum(
                self.value(
                    f"SELECT count(*) FROM {table} CROSS JOIN versions m ON m.v = {table}.rowid"
                    f" WHERE {table} MATCH ? AND {then}",
                    (_quoted(term), at, at),
                )
                for table in ("words_now", "words_past")
            )
            for term in terms
        }
        return self.value(f"SELECT count(*) FROM versions m WHERE {then}", (at, at)), found

    def search_vectors(self, values: Sequence[float] | Floats, model: str, where: Where, limit: int) -> Near:
        kept = self.rows("SELECT model, length FROM models WHERE name = ?", (model,))
        if not kept:
            unit(values, None)
            return Near([])
        number, length = kept[0][0], kept[0][1]
        sought = unit(values, length)
        seq, epoch = self.last_seq(), self.value("SELECT value FROM meta WHERE name = 'epoch'")
        with self._file.caches_lock:
            cache = self._file.caches.get(model)
            if cache is None or cache.epoch < epoch:
                cache = self._file.caches[model] = Cache(length, epoch)
            cache.refresh(self._connection, number, seq)
            cache = cache.frozen()
        seen, who = _seen_by(where.scope, "n")
        audiences = None if where.scope.sees_all else {row[0] for row in self.rows(f"SELECT n FROM scopes WHERE {seen}", who)}
        allowed = None
        if replace(where, at=None, kinds=None) != Where(where.scope):
            condition, bind = _fitting(where)
            allowed = {row[0] for row in self.rows(f"SELECT m.v FROM versions m WHERE {condition}", bind)}
        at = None if where.retired or where.ever else seq if where.at is None else where.at
        found, lowest, others = cache.nearest(sought, at, audiences, where.kinds, allowed, limit)
        return Near([Match(v, score) for v, score in found], lowest, others)

    def around(self, keys: Sequence[int], where: Where, reach: int = 1) -> dict[int, Around]:
        fitting, bind = _fitting(_active(where))
        # What happened at the same moment is looked at first, and by itself: an import may date a whole session alike.
        near = f"SELECT m.v FROM versions m WHERE m.stream = c.stream AND {fitting} AND m.happened"
        before, after = (
            f"(SELECT group_concat(v) FROM (SELECT v FROM (SELECT * FROM ({near} = c.happened AND m.v {sign} c.v {first})"
            f" UNION ALL SELECT * FROM ({near} {sign} c.happened {first})) LIMIT {int(reach)}))"
            for sign, way in (("<", "DESC"), (">", "ASC"))
            for first in (f"ORDER BY m.happened {way}, m.v {way} LIMIT {int(reach)}",)
        )
        rows = self.rows(
            f"SELECT c.v, {before}, {after}"
            " FROM json_each(?) asked CROSS JOIN versions c ON c.v = asked.value WHERE c.stream IS NOT NULL",
            (*bind, *bind, *bind, *bind, json.dumps(list(keys))),
        )
        return {v: Around(_numbers(before), _numbers(after)) for v, before, after in rows}

    def derived(self, keys: Sequence[int], where: Where) -> dict[int, tuple[int, ...]]:
        fitting, bind = _fitting(_active(where))
        rows = self.rows(
            "SELECT c.v, group_concat(DISTINCT m.v) FROM json_each(?) asked CROSS JOIN versions c ON c.v = asked.value"
            " CROSS JOIN cites x ON x.ref = ? || c.id CROSS JOIN sightings s ON s.s = x.s AND s.retired_seq IS NULL"
            f" CROSS JOIN versions m ON m.id = s.id AND {fitting} GROUP BY c.v",
            (json.dumps(list(keys)), self.full("m", ""), *bind),
        )
        return {v: tuple(sorted(_numbers(near))) for v, near in rows}

    def texts(self, keys: Sequence[int]) -> dict[int, str]:
        rows = self.rows(
            "SELECT t.v, t.speaker, t.title, t.text, t.tags FROM json_each(?) asked CROSS JOIN texts t ON t.v = asked.value",
            (json.dumps(list(keys)),),
        )
        return {v: searchable(speaker, title, text, json.loads(tags) if tags else ()) for v, speaker, title, text, tags in rows}

    def beside(self, turns: Sequence[Memory], model: str) -> list[Beside]:
        side = (
            "(SELECT m.v FROM versions m WHERE c.retired_seq IS NULL AND m.retired_seq IS NULL AND m.stream = c.stream"
            " AND m.audience = c.audience AND (m.happened, m.v) {sign} (c.happened, c.v)"
            " ORDER BY m.happened {way}, m.v {way} LIMIT 1)"
        )
        both = f"{side.format(sign='<', way='DESC')}, {side.format(sign='>', way='ASC')}"
        rows: list[Row] = []
        for turn in turns:
            rows += self.rows(
                f"SELECT c.v, {both} FROM versions c WHERE c.id = ? AND c.version = ?", (self.tail(turn.id), turn.version)
            )
        keys = list({key for _, *sides in rows for key in sides if key is not None})
        near = dict(zip(keys, self.fetch(keys), strict=True))
        return [Beside(near.get(before), near.get(after), self._uses(v, model)) for v, before, after in rows]

    def _uses(self, v: int, model: str) -> frozenset[tuple[str, int]] | None:
        rows = self.rows(
            "SELECT used.id, used.version FROM vectors x JOIN models USING(model) LEFT JOIN vector_uses u USING(vec)"
            " LEFT JOIN versions used ON used.v = u.v WHERE x.v = ? AND models.name = ?",
            (v, model),
        )
        return frozenset((self.full("m", id), version) for id, version in rows if id is not None) if rows else None

    def outlines(self, keys: Sequence[int]) -> list[Outline]:
        rows = self.rows(
            "SELECT m.v, m.id, m.version, m.kind, m.subject, t.speaker, t.role, o.channel, o.session, m.trust, m.confidence,"
            " ifnull(m.happened, c.at), m.valid_from, m.valid_until"
            " FROM json_each(?) asked CROSS JOIN versions m ON m.v = asked.value JOIN texts t ON t.v = m.v"
            " JOIN scopes o ON o.n = m.origin JOIN commits c ON c.seq = m.added_seq",
            (json.dumps(list(keys)),),
        )
        return [
            Outline(
                v,
                self.full("m", id),
                version,
                kind,
                subject,
                speaker,
                role,
                channel,
                session,
                trust,
                sure,
                from_micros(at),
                _moment(begin),
                _moment(end),
            )
            for v, id, version, kind, subject, speaker, role, channel, session, trust, sure, at, begin, end in rows
        ]

    def without_vectors(self, model: str, limit: int | None) -> list[Memory]:
        condition, bind = self._lacking(model)
        return [
            r.memory for r in self.records(condition, bind, f"m.added_seq, m.v LIMIT {-1 if limit is None else int(limit)}")
        ]

    def lacking(self, model: str) -> int:
        condition, bind = self._lacking(model)
        return int(self.value(f"SELECT count(*) FROM versions m WHERE {condition}", bind))

    def lacks(self, model: str, where: Where) -> bool:
        condition, bind = self._lacking(model)
        fitting, who = _fitting(where)
        return bool(self.value(f"SELECT EXISTS (SELECT 1 FROM versions m WHERE {condition} AND {fitting})", (*bind, *who)))

    def vectors_of(self, ids: Iterable[str], model: str) -> dict[str, Floats]:
        rows = self.rows(
            "SELECT m.id, x.data FROM json_each(?) asked CROSS JOIN versions m ON m.id = asked.value AND m.retired_seq IS NULL"
            " CROSS JOIN vectors x ON x.v = m.v AND x.part = 0 CROSS JOIN models ON models.model = x.model AND models.name = ?",
            (json.dumps([self.tail(id) for id in ids]), model),
        )
        return {self.full("m", id): half_floats(data) for id, data in rows}

    def _lacking(self, model: str) -> tuple[str, tuple[Bind, ...]]:
        kept = self.rows("SELECT model, upto FROM models WHERE name = ?", (model,))
        number, upto = kept[0] if kept else (-1, 0)
        have = "SELECT 1 FROM vectors x WHERE x.v = m.v AND x.model = ?"
        return f"m.added_seq > ? AND NOT EXISTS ({have})", (upto, number)

    # sources and state

    def waiting(self, limit: int | None = None, *, failed: bool = False) -> list[Memory]:
        order, jobs = f"m.v LIMIT {-1 if limit is None else int(limit)}", "(4)" if failed else "(1, 2)"
        return [r.memory for r in self.records(f"m.job IN {jobs} AND m.retired_seq IS NULL", (), order)]

    def job(self, id: str) -> str | None:
        job = self.value("SELECT job FROM versions WHERE id = ? AND retired_seq IS NULL", (self.tail(id),))
        return JOBS[job - 1] if job else None

    def jobs(self) -> dict[str, int]:
        rows = self.rows("SELECT job, count(*) FROM versions WHERE job IS NOT NULL AND retired_seq IS NULL GROUP BY job")
        return {JOBS[job - 1]: count for job, count in rows}

    def live(self) -> int:
        return int(self.value("SELECT count(*) FROM versions WHERE job = 1 AND retired_seq IS NULL"))

    def queue(self) -> list[tuple[str, int, str]]:
        rows = self.rows(
            "SELECT m.id, m.version, coalesce(o.person, t.speaker, '') FROM versions m JOIN texts t USING(v)"
            " JOIN scopes o ON o.n = m.origin WHERE m.job = 1 AND m.retired_seq IS NULL ORDER BY m.v"
        )
        return [(self.full("m", id), version, author) for id, version, author in rows]

    def citing(self, ids: Iterable[str]) -> list[Held]:
        return self.held("s IN (SELECT s FROM cites WHERE ref IN (SELECT value FROM json_each(?)))", (json.dumps(list(ids)),))

    def sightings(self, id: str) -> list[Held]:
        return self.held("id = ?", (self.tail(id),))

    def held(self, condition: str, bind: Sequence[Bind] = ()) -> list[Held]:
        """Return sightings as kept."""
        columns = "id, key, seq, retired_seq, at, confidence, source, rests_on, voice"
        rows = self.rows(f"SELECT {columns} FROM sightings WHERE {condition} ORDER BY s", bind)
        return [
            Held(
                self.full("m", id),
                key,
                seq,
                retired,
                Sighting(from_micros(at), confidence, read_source(source), tuple(json.loads(rests_on or "[]")), voice or b""),
            )
            for id, key, seq, retired, at, confidence, source, rests_on, voice in rows
        ]

    def state(self, kind: str, place: Scope, name: str = "") -> State | None:
        found = self._states(
            "kind = ? AND channel = ? AND session = ? AND person = ? AND name = ?", state_key(kind, place, name)
        )
        return found[0] if found else None

    def states(self, scope: Scope, kind: str | None = None) -> list[State]:
        condition, bind = ("1", ()) if scope.sees_all else (
            "channel IN ('', ?) AND session IN ('', ?) AND person IN ('', ?)"
            " AND NOT (person <> '' AND channel = '' AND ? <> '')",
            (scope.channel or "", scope.session or "", scope.person or "", scope.channel or ""),
        )  # fmt: skip
        found = self._states(
            condition if kind is None else f"kind = ? AND {condition}", bind if kind is None else (kind, *bind)
        )
        return sorted(found, key=lambda state: (state.kind, repr(state.place), state.name))

    def _states(self, condition: str, bind: Sequence[Bind]) -> list[State]:
        rows = self.rows(f"SELECT kind, channel, session, person, name, value, updated FROM state WHERE {condition}", bind)
        return [
            State(
                kind,
                _scope(self.space, channel or None, session or None, person or None),
                name,
                json.loads(value),
                from_micros(updated),
            )
            for kind, channel, session, person, name, value, updated in rows
        ]

    def copies(self) -> list[str]:
        return [row[0] for row in self.rows("SELECT what FROM copies ORDER BY what")]


def _fitting(where: Where) -> tuple[str, list[Bind]]:
    """Return the condition on `m` (a row of versions) that `where` stands for."""
    seen, bind = _seen_by(where.scope, "m.audience")
    parts = [seen]
    if where.ever:
        pass
    elif where.retired:
        upto = "" if where.at is None else f" AND l.added_seq <= {int(where.at)}"
        parts.append(f"m.version = (SELECT max(l.version) FROM versions l WHERE l.id = m.id{upto})")
    elif where.at is None:
        parts.append("m.retired_seq IS NULL")
    else:
        parts.append("m.added_seq <= ? AND (m.retired_seq IS NULL OR m.retired_seq > ?)")
        bind += [where.at, where.at]
    if where.kinds is not None:
        parts.append(f"m.kind IN ({','.join('?' * len(where.kinds))})")
        bind += where.kinds
    for tag in where.tags:
        parts.append("EXISTS (SELECT 1 FROM texts t, json_each(t.tags) j WHERE t.v = m.v AND j.value = ?)")
        bind.append(tag)
    if where.subject is not None:
        parts.append("m.subject = ?" if where.subject else "m.subject IS NULL")
        bind += [where.subject] if where.subject else []
    if where.told_by is not None:
        parts.append("m.v IN (SELECT v FROM texts WHERE json_extract(extra, '$.told_by') = ?)")
        bind.append(where.told_by)
    if where.session is not None:
        parts.append("m.origin IN (SELECT n FROM scopes WHERE session = ?)")
        bind.append(where.session)
    if where.channel is not None:
        parts.append("m.origin IN (SELECT n FROM scopes WHERE channel = ?)")
        bind.append(where.channel)
    if where.message_id is not None:
        parts.append("m.v IN (SELECT v FROM texts WHERE message_id = ?)")
        bind.append(where.message_id)
    if where.between is not None:
        start, end = (None if edge is None else micros(edge) for edge in where.between)
        parts.append(
            "CASE WHEN m.happened IS NOT NULL THEN (?1 IS NULL OR m.happened >= ?1) AND (?2 IS NULL OR m.happened < ?2)"
            " ELSE (m.valid_from IS NOT NULL OR m.valid_until IS NOT NULL)"
            " AND (?2 IS NULL OR m.valid_from IS NULL OR m.valid_from < ?2)"
            " AND (?1 IS NULL OR m.valid_until IS NULL OR m.valid_until > ?1) END".replace("?1", _literal(start)).replace(
                "?2", _literal(end)
            )
        )
    return " AND ".join(parts), bind


def _active(where: Where) -> Where:
    """Return `where` without what was forgotten."""
    return replace(where, retired=False, ever=False) if where.retired or where.ever else where


def _literal(number: int | None) -> str:
    return "NULL" if number is None else str(number)


def _seen_by(scope: Scope, column: str) -> tuple[str, list[Bind]]:
    """Return the condition that an audience is visible in `scope`: `memory.scope.visible`, as SQL."""
    if scope.sees_all:
        return "1", []
    # Written as the index `scopes_parts` has it: in a space of many sessions, a look at every scope took most of a recall.
    rule = (
        "SELECT n FROM scopes WHERE ifnull(channel, '') IN ('', ?) AND ifnull(session, '') IN ('', ?)"
        " AND ifnull(person, '') IN ('', ?) AND NOT (person IS NOT NULL AND channel IS NULL AND ? <> '')"
    )
    parts = [scope.channel or "", scope.session or "", scope.person or ""]
    return f"{column} IN ({rule})", [*parts, parts[0]]


def _match(query: Query) -> list[str]:
    """Return the words as FTS5 queries in which nothing is syntax but what is written here.

    A cue that is a document of its own becomes several: the time that one takes grows with the square of its words.
    """
    quoted = [_quoted(variant) for word in query.words for variant in word.variants]
    quoted += [f"{_quoted(prefix)}*" for word in query.words for prefix in word.prefixes]
    phrases = list(dict.fromkeys(quoted))
    return [" OR ".join(phrases[start : start + PHRASES]) for start in range(0, len(phrases), PHRASES)]


def _quoted(term: str) -> str:
    return '"' + term.replace('"', '""') + '"'


def state_key(kind: str, place: Scope, name: str) -> tuple[str, str, str, str, str]:
    """Return the columns that name an entry of session state."""
    return kind, place.channel or "", place.session or "", place.person or "", name


_NOWHERE = Source()
_FILL_SOURCE = [getattr(Source, name).__set__ for name in Source.__slots__]
_decoder = json.JSONDecoder()
compact = json.JSONEncoder(ensure_ascii=False, separators=(",", ":")).encode  # made once: json.dumps makes one a call


def read_source(value: str | None) -> Source:
    """Read what `write_source` wrote."""
    if value is None:
        return _NOWHERE
    (messages, memories, *rest), _ = _decoder.raw_decode(value)
    source = object.__new__(Source)  # checked when it was told: a recall of ten hits need not check it again
    for fill, part in zip(_FILL_SOURCE, (tuple(messages), tuple(memories), *rest), strict=True):
        fill(source, part)
    return source


def write_source(source: Source) -> str | None:
    """Return a source as it is kept; None for an empty one."""
    if source == _NOWHERE:
        return None
    parts = [source.message_ids, source.memory_ids, source.quote, source.place]
    return compact(parts)


def let_go_of_scopes() -> None:
    """Empty what is kept of scopes that were read."""
    _scope.cache_clear()


@lru_cache(maxsize=4096)
def _scope(space: str, channel: str | None, session: str | None, person: str | None) -> Scope:
    return Scope(space, channel, session, person)


def _with(memory: Memory, confidence: float | None, unretired: bool) -> Memory:
    if confidence is None and not unretired:
        return memory
    return replace(
        memory,
        confidence=memory.confidence if confidence is None else confidence,
        retired_at=None if unretired else memory.retired_at,
    )


def _moment(value: int | None) -> datetime | None:
    return None if value is None else from_micros(value)


def _numbers(listed: str | None) -> tuple[int, ...]:
    return tuple(map(int, listed.split(","))) if listed else ()
