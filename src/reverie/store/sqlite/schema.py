"""The tables of one space, as the steps that build them.

The number of steps taken is the file's `user_version`; a new file takes all of them, an older one the rest, after a copy
was put aside. Steps are never changed once released, only added.

What a search has to look at for every candidate (audience, times, seqs) sits in the narrow `versions`; the words
themselves in `texts`: with both in one table a search among 100,000 rows took half as long again. Texts are never
indexed by value, since an index keeps copies that an erase would have to chase: `key` is a hash.
"""

from __future__ import annotations

import hashlib

from reverie.memory.language import FTS_TOKENIZE

APPLICATION_ID = 0x52455645  # "REVE", so that any other SQLite file is recognised as not ours

_FIRST = f"""
CREATE TABLE meta(name TEXT PRIMARY KEY, value) WITHOUT ROWID;
CREATE TABLE commits(
    seq INTEGER PRIMARY KEY, id TEXT NOT NULL UNIQUE, at INTEGER NOT NULL, by TEXT NOT NULL, why TEXT NOT NULL);
CREATE TABLE scopes(n INTEGER PRIMARY KEY, channel TEXT, session TEXT, person TEXT);
CREATE UNIQUE INDEX scopes_parts ON scopes(ifnull(channel, ''), ifnull(session, ''), ifnull(person, ''));
CREATE TABLE versions(
    v INTEGER PRIMARY KEY, id TEXT NOT NULL, version INTEGER NOT NULL, kind TEXT NOT NULL,
    audience INTEGER NOT NULL, origin INTEGER NOT NULL, subject TEXT, trust TEXT NOT NULL, confidence REAL NOT NULL,
    pinned INTEGER NOT NULL, happened INTEGER, valid_from INTEGER, valid_until INTEGER,
    added_seq INTEGER NOT NULL, retired_seq INTEGER, key BLOB);
CREATE UNIQUE INDEX versions_id ON versions(id, version);
CREATE INDEX versions_key ON versions(key) WHERE key IS NOT NULL;
CREATE INDEX versions_added ON versions(added_seq);
CREATE INDEX versions_retired ON versions(retired_seq) WHERE retired_seq IS NOT NULL;
CREATE INDEX versions_session ON versions(origin, happened) WHERE retired_seq IS NULL;
CREATE TABLE texts(
    v INTEGER PRIMARY KEY, text TEXT NOT NULL, title TEXT, tags TEXT, extra TEXT, speaker TEXT, role TEXT,
    message_id TEXT, reply_to TEXT, source TEXT, replaces TEXT);
CREATE INDEX texts_message ON texts(message_id) WHERE message_id IS NOT NULL;
CREATE TABLE sightings(
    s INTEGER PRIMARY KEY, id TEXT NOT NULL, key BLOB NOT NULL, seq INTEGER NOT NULL, retired_seq INTEGER,
    source TEXT, rests_on TEXT, at INTEGER NOT NULL, confidence REAL NOT NULL);
CREATE INDEX sightings_id ON sightings(id);
CREATE INDEX sightings_seq ON sightings(seq);
CREATE TABLE cites(ref TEXT NOT NULL, s INTEGER NOT NULL, PRIMARY KEY(ref, s)) WITHOUT ROWID;
CREATE TABLE models(model INTEGER PRIMARY KEY, name TEXT NOT NULL UNIQUE, length INTEGER NOT NULL);
CREATE TABLE vectors(
    vec INTEGER PRIMARY KEY AUTOINCREMENT, v INTEGER NOT NULL, grain TEXT NOT NULL, part INTEGER NOT NULL,
    model INTEGER NOT NULL, data BLOB NOT NULL);
CREATE UNIQUE INDEX vectors_place ON vectors(v, grain, part, model);
CREATE TABLE vector_uses(v INTEGER NOT NULL, vec INTEGER NOT NULL, PRIMARY KEY(v, vec)) WITHOUT ROWID;
CREATE TABLE state(
    kind TEXT NOT NULL, channel TEXT NOT NULL, session TEXT NOT NULL, person TEXT NOT NULL, name TEXT NOT NULL,
    value TEXT NOT NULL, updated INTEGER NOT NULL, PRIMARY KEY(kind, channel, session, person, name)) WITHOUT ROWID;
CREATE TABLE tombstones(mark BLOB PRIMARY KEY) WITHOUT ROWID;
CREATE TABLE gone(seq INTEGER NOT NULL, id TEXT NOT NULL, PRIMARY KEY(seq, id)) WITHOUT ROWID;
CREATE TABLE copies(what TEXT PRIMARY KEY) WITHOUT ROWID;
CREATE VIRTUAL TABLE words_now USING fts5(
    terms, content='', contentless_delete=1, columnsize=1, detail=full, tokenize="{FTS_TOKENIZE}");
CREATE VIRTUAL TABLE words_past USING fts5(
    terms, content='', contentless_delete=1, columnsize=1, detail=full, tokenize="{FTS_TOKENIZE}");
CREATE VIRTUAL TABLE vocabulary_now USING fts5vocab(words_now, row);
CREATE VIRTUAL TABLE vocabulary_past USING fts5vocab(words_past, row);
"""

# `upto`: every version added up to this seq has its vectors of that model. `stream`: what a turn stands before and after.
_SECOND = """
ALTER TABLE models ADD COLUMN upto INTEGER NOT NULL DEFAULT 0;
ALTER TABLE versions ADD COLUMN stream INTEGER;
UPDATE versions SET stream = (SELECT stream_of(channel, session) FROM scopes WHERE n = origin) WHERE kind = 'turn';
CREATE INDEX versions_stream ON versions(stream, happened) WHERE stream IS NOT NULL;
"""

# One vector does for a short turn and for its window: those of the turn alone are made again, and no other grain is left.
_THIRD = """
DROP INDEX vectors_place;
CREATE TEMP TABLE short AS SELECT v, added_seq FROM versions JOIN texts USING(v)
    WHERE stream IS NOT NULL AND retired_seq IS NULL AND length(text) <= 100;
DELETE FROM vectors WHERE grain <> 'turn' OR v IN (SELECT v FROM short);
DELETE FROM vector_uses WHERE vec NOT IN (SELECT vec FROM vectors);
UPDATE models SET upto = min(upto, ifnull((SELECT min(added_seq) - 1 FROM short), upto));
DROP TABLE short;
ALTER TABLE vectors DROP COLUMN grain;
CREATE UNIQUE INDEX vectors_place ON vectors(v, part, model);
CREATE INDEX vector_uses_vec ON vector_uses(vec);
UPDATE meta SET value = value + 1 WHERE name = 'epoch';
"""

# Whether a turn is still to be learned from: the place of its state in `base.JOBS`, counted from 1. What is known of a person
# is looked through for every fact about them.
_FOURTH = """
ALTER TABLE versions ADD COLUMN job INTEGER;
CREATE INDEX versions_job ON versions(job, v) WHERE job IS NOT NULL;
CREATE INDEX versions_subject ON versions(subject, v) WHERE subject IS NOT NULL;
"""

# Who said it on which day, as a hash: one of the tellings counts, whichever of them an erase leaves. And what was learned of
# an author, which is counted for every fact of theirs.
_FIFTH = """
ALTER TABLE sightings ADD COLUMN voice BLOB;
CREATE INDEX texts_teller ON texts(json_extract(extra, '$.told_by')) WHERE json_extract(extra, '$.told_by') IS NOT NULL;
"""

STEPS: tuple[str, ...] = (_FIRST, _SECOND, _THIRD, _FOURTH, _FIFTH)

# Which entry of PLACES each table belongs to; the residue test checks that none is missing.
TABLE_PLACES = {
    "versions": "versions",
    "texts": "texts",
    "scopes": "scopes",
    "words_now": "words",
    "words_past": "words",
    "vocabulary_now": "words",
    "vocabulary_past": "words",
    "vectors": "vectors",
    "vector_uses": "vectors",
    "models": "vectors",
    "sightings": "sightings",
    "cites": "sightings",
    "commits": "commits",
    "gone": "commits",
    "state": "state",
    "meta": None,
    "tombstones": None,
    "copies": None,
}


def stream_of(channel: str | None, session: str | None) -> int | None:
    """Return the number of the conversation that a turn belongs to: its session's, else its channel's; None without either."""
    if channel is None and session is None:
        return None
    digest = hashlib.blake2b(repr((channel, session)).encode(), digest_size=8).digest()
    return int.from_bytes(digest, signed=True)
