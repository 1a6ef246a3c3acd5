"""What must never be kept: keys, tokens, passwords, cards (A11). Each is cut out of a text and its kind stays in its place.

Three ways to know a secret: by its own form (a provider's prefix, a private key's frame), by a checksum (cards, IBANs), or by
the words before it ("password=", "mi pin es"). Nothing is judged by its randomness alone: in chat that flags nearly every line.
What is named in passing ("I forgot my password", "the key is under the mat") has no value beside it and stays.

Patterns run over a *view* of the text: accents, wide letters and curly quotes are plain in it and unseen characters are gone,
so that none of them hides a secret; spans are mapped back. Every pattern is possessive, bounded or consumes what it read, so
that time is linear. A text without cue, long run or number, as most are, is let through after three searches.
"""

import re
import unicodedata
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache

from reverie.errors import BadInput
from reverie.memory.language import is_unseen, plain


@dataclass(frozen=True, slots=True)
class Cut:
    """A text without its secrets, and the kinds of those, in order."""

    text: str
    found: tuple[str, ...] = ()


def cut_secrets(text: str) -> Cut:
    """Return `text` with `[secret: KIND]` in place of each secret; without any, the same text.

    >>> cut_secrets("the wifi password is hunter2, come in")
    Cut(text='the wifi password is [secret: password], come in', found=('password',))
    """
    if not isinstance(text, str):
        raise BadInput(f"cut_secrets takes a str, not {type(text).__name__}; of other values give str(value)")
    if not _STRANGE.search(text) and not any(_hints(text.lower())):
        return Cut(text)
    even = _evened(text)
    cuts: list[_Span] = []
    for _ in range(_ROUNDS):
        new = [
            (start, end, rank, kind) if at is None else (at[start], at[end - 1] + 1, rank, kind)
            for view, at in _views(even, cuts)
            for start, end, rank, kind in _secrets(view)
        ] or list(_broken(even, cuts))
        if not new:
            break
        cuts = _joined(sorted(cuts + new))
    if not cuts:
        return Cut(text)
    kept: list[str] = []
    done = 0
    for start, end, _, kind in cuts:
        kept += (text[done:start], f"[secret: {kind}]")
        done = end
    return Cut("".join((*kept, text[done:])), tuple(kind for *_, kind in cuts))


_Span = tuple[int, int, int, str]  # start, end, rank (of two that overlap, the lower names the kind), kind

_ROUNDS = 8  # where one secret ends can depend on the next being gone; nobody writes chains of them
_MARK = "\uffff"  # stands for a placeholder or a cut in a view: ends every secret, is part of none
_UNSEEN = "\u200b"
_STRANGE = re.compile("[^\x00-\x7f¡¿áéíóúüñÁÉÍÓÚÜÑ’“”—–…\U0001f300-\U0001faff]")  # what a hint may hide behind
_ODD = re.compile("[^\x00-\x7f]+")
_ESCAPE = re.compile(r"\\[nrt]|%[0-9A-Fa-f]{2}")
_PLACEHOLDER = r"\[secret: [a-z0-9-]{1,40}\]"
_GONE = re.compile(rf"{_PLACEHOLDER}|{_UNSEEN}+")
_JOINT = re.compile(r"""(?<=[\w-])(["'])\s{0,20}[+.]?\s{0,20}\1(?=[\w-])""", re.ASCII)  # between two halves: "abc" + "def"
_GONE_OR_JOINT = re.compile(rf"{_PLACEHOLDER}|{_UNSEEN}+|{_JOINT.pattern}", re.ASCII)
_LINE_BREAK = r"\\?\r?\n[^\S\n]{0,8}"
_BREAK = re.compile(rf"(?<=[\w.~-]){_LINE_BREAK}(?=[\w.~-])", re.ASCII)


class _Plain(dict[int, str]):
    """Each character as one plain one, worked out when first met."""

    def __missing__(self, code: int) -> str:
        character = chr(code)
        bare = [sign for sign in unicodedata.normalize("NFKD", character) if not unicodedata.combining(sign)]
        shown = bare[0] if len(bare) == 1 else character
        if not bare or is_unseen(character) or unicodedata.category(character) in ("Cf", "Mn", "Me"):
            shown = _UNSEEN
        self[code] = shown
        return shown


_PLAIN = _Plain({ord(sign): "'" for sign in "‘’‛ʼ′"} | {ord(sign): '"' for sign in "“”„«»″"} | {0x2010: "-", 0x2011: "-"})
_PLAIN[ord(_MARK)] = " "  # somebody's own must not pass for ours


def _evened(text: str) -> str:
    r"""Return a text of the same length with plain characters; after \n, as JSON writes it, and %3D something new begins."""
    even = text if text.isascii() else _ODD.sub(lambda run: run[0].translate(_PLAIN), text)
    if "\\" in even or "%" in even:
        even = _ESCAPE.sub(lambda escape: "  " if escape[0][0] == "\\" else "%%%", even)
    return even


def _views(even: str, cuts: list[_Span]) -> Iterator[tuple[str, list[int] | None]]:
    """Yield what a text reads as, with the place of each character in it, unless that is its own."""
    if cuts or _UNSEEN in even or "[secret: " in even:
        yield _without(even, _GONE, cuts)
    else:
        yield even, None
    if ('"' in even or "'" in even) and _JOINT.search(even):
        yield _without(even, _GONE_OR_JOINT, cuts)


def _without(even: str, gone: re.Pattern[str], cuts: list[_Span]) -> tuple[str, list[int]]:
    parts: list[str] = []
    at: list[int] = []
    done = 0
    marked = [(start, end, _MARK) for start, end, _, _ in cuts]
    for start, end, sign in sorted(
        [*marked, *((*found.span(), _MARK if found[0][0] == "[" else "") for found in gone.finditer(even))]
    ):
        if start >= done:
            parts += (even[done:start], sign)
            at += (*range(done, start), *([start] if sign else []))
            done = end
    at += range(done, len(even))
    return "".join((*parts, even[done:])), at


def _joined(spans: list[_Span]) -> list[_Span]:
    """Make one of those that overlap."""
    joined = spans[:1]
    for start, end, rank, kind in spans[1:]:
        if start < joined[-1][1]:
            rank, kind = min((rank, kind), joined[-1][2:])
            joined[-1] = (joined[-1][0], max(end, joined[-1][1]), rank, kind)
        else:
            joined.append((start, end, rank, kind))
    return joined


_LONG = re.compile(r"[ \n\t][^ \n\t]{20}")
_BROKEN = re.compile(r"(?<!\S)\S{6,}+\r?\n[^\S\n]{0,8}\S{4}")
_DIGITS = re.compile("[0-9](?:[0-9 -]{10}|[0-9][ -]?[a-z0-9]{4})")
_CUE = re.compile(
    r"p(?:ass|wd|in[^a-z]|w[^a-z])|c(?:ontra|lave|ode|odigo|ódigo|v[vc]|sc|red)|s(?:ecret|ess|sn|ocial sec|ig=)|token|key|otp"
    r"|2fa|words|phrase|frase|bearer|authori|://|m(?:nemonic|ysql|ariadb)|llave|-u |--user"
    r"|\"\s{0,20}[+.]?\s{0,20}\"|'\s{0,20}[+.]?\s{0,20}'"
)


def _hints(low: str) -> Iterator[object]:
    """Yield for each way to know a secret whether it is worth trying; these searches are cheap, the others are not."""
    yield _CUE.search(low)
    yield _LONG.search(" " + low)
    yield _DIGITS.search(low)
    yield "\n" in low and _BROKEN.search(low)


def _secrets(view: str) -> Iterator[_Span]:
    low = view.lower()  # as long as the view: the one letter that would grow is plain in it
    is_named, is_long, is_number, _ = _hints(low)
    if is_long:
        yield from _by_form(view)
    if is_number:
        yield from _by_checksum(low)
    if is_named:
        yield from _by_name(view, low)
        yield from _by_place(view, low)


_A = "[A-Za-z0-9]"
_W = "[A-Za-z0-9_-]"
_HEX = "[0-9a-f]"
_UUID = f"{_HEX}{{8}}-{_HEX}{{4}}-{_HEX}{{4}}-{_HEX}{{4}}-{_HEX}{{12}}"
_DASHES = "-{4,5} ?"
_INSIDE = f"(?:[^-{_MARK}]|-(?!---))"
# The lengths are the least that each provider gives out; what is longer is cut to its end.
_FORMS = (
    (
        "private-key",
        rf"{_DASHES}BEGIN [A-Z0-9 ]{{0,30}}PRIVATE KEY(?: BLOCK)? ?-{{4,5}}"
        rf"(?:(?={_INSIDE}{{0,400}}?[A-Za-z0-9+/=]{{16}}){_INSIDE}*+{_DASHES}END [A-Z0-9 ]{{0,40}}-{{4,5}}"
        r"|(?:[\s\\\"'nr+,>|:=]{0,12}[A-Za-z0-9+/=]{16,}+)++)"
        rf"|Private-Lines: \d{{1,3}}(?:\s{{1,3}}(?:[A-Za-z0-9+/]{{16,}}+=*|Private-MAC: {_HEX}{{40,}}+))++",
    ),
    ("age-key", "AGE-SECRET-KEY-(?:PQ-)?1[0-9A-Z]{50,}+"),
    ("jwt", rf"eyJ{_W}{{8,1000}}+\.eyJ{_W}{{8,}}+(?:\.{_W}++){{0,3}}"),
    ("jwe", rf"eyJ{_W}{{8,1000}}+(?:\.{_W}{{0,2000}}+){{4}}"),
    ("aws-key", rf"(?:AKIA|ASIA|ABIA|ACCA|A3T[A-Z0-9])[A-Z0-9]{{16}}(?!{_A})|ABSK[A-Za-z0-9+/]{{90,}}+=*"),
    ("alibaba-key", f"LTAI{_A}{{16,20}}(?!{_A})"),
    ("tencent-key", f"AKID{_A}{{32,}}+"),
    ("yandex-key", rf"AQVN{_W}{{35,}}+|y[0-3]_{_W}{{50,}}+|t1\.[A-Z0-9a-z_-]{{7,400}}+\.{_W}{{80,}}+"),
    ("github-token", rf"gh[pousr]_{_A}{{36,}}+|github_pat_\w{{22,}}+"),
    ("gitlab-token", f"gl(?:pat|dt|rt|rtr|cbt|ptt|ft|imt|agent|oas|soat|ffct|wt)-{_W}{{20,}}+|GR1348941{_W}{{20,}}+"),
    ("slack-token", rf"xox[a-z](?:\.xox[a-z])?-[A-Za-z0-9-]{{10,}}+|xapp-\d-[A-Za-z0-9-]{{20,}}+|xwfp-{_A}{{20,}}+"),
    ("slack-webhook", r"hooks\.slack\.com/(?:services|workflows|triggers)/[A-Za-z0-9+/_-]{20,}+"),
    ("teams-webhook", rf"{_W}{{1,60}}+\.webhook\.office\.com/webhookb2/[\w@/-]{{40,}}+"),
    ("discord-webhook", rf"discord(?:app)?\.com/api/(?:v\d{{1,2}}/)?webhooks/\d{{17,20}}+/{_W}{{40,}}+"),
    ("discord-token", rf"(?:mfa\.{_W}{{60,}}+|[MNO]{_W}{{23,27}}+\.{_W}{{6,7}}+\.{_W}{{27,}}+)"),
    ("telegram-token", rf"\d{{8,10}}+:A{_W}{{33,}}+"),
    ("zapier-webhook", r"hooks\.zapier\.com/hooks/catch/[\w/]{10,}+"),
    ("stripe-key", f"[sr]k_(?:live|test|prod)_{_A}{{16,}}+|whsec_[A-Za-z0-9+/=]{{24,}}+"),
    ("anthropic-key", f"sk-ant-{_W}{{20,}}+"),
    ("openrouter-key", f"sk-or-(?:v1-)?{_A}{{32,}}+"),
    ("langfuse-key", f"sk-lf-{_UUID}"),
    ("openai-key", rf"sk-(?:proj|svcacct|admin|service|None)-{_W}{{20,}}+|sk-(?=[A-Za-z]{{0,60}}+\d){_A}{{32,}}+"),
    ("elevenlabs-key", f"sk_{_HEX}{{48,}}+"),
    ("google-key", f"AIza{_W}{{35,}}+"),
    ("google-token", rf"GOCSPX-{_W}{{20,}}+|ya29\.{_W}{{20,}}+(?:\.{_W}++)?|1//0{_W}{{30,}}+"),
    ("azure-secret", rf"{_W}{{3}}\dQ~[\w.~-]{{30,}}+"),
    ("facebook-token", f"EAA[A-Z]{_A}{{76,}}+|IGQ{_W}{{60,}}+"),
    ("twitter-token", "A{20,24}+(?=[A-Za-z0-9]{10,80}+%)[A-Za-z0-9%]{50,}+"),
    ("twitch-token", "oauth:[a-z0-9]{30,}+"),
    ("dropbox-token", rf"sl\.(?:u\.)?{_W}{{100,}}+"),
    ("twilio-key", f"(?:SK|AC){_HEX}{{32}}(?!{_A})"),
    ("sendgrid-key", rf"SG\.{_W}{{16,64}}+\.{_W}{{16,}}+"),
    ("mailgun-key", f"key-{_HEX}{{32}}(?!{_A})|{_HEX}{{32}}-{_HEX}{{8}}-{_HEX}{{8}}(?!{_A})"),
    ("mailchimp-key", rf"{_HEX}{{32}}-us\d{{1,2}}(?!{_A})"),
    ("brevo-key", f"xkeysib-{_HEX}{{64}}-{_A}{{16,}}+|xsmtpsib-{_HEX}{{64}}-{_A}{{16,}}+"),
    ("npm-token", f"npm_{_A}{{36,}}+"),
    ("pypi-token", f"pypi-{_W}{{50,}}+"),
    ("rubygems-key", f"rubygems_{_HEX}{{48,}}+"),
    ("crates-token", f"cio{_A}{{32}}(?!{_A})"),
    ("nuget-key", f"oy2[a-z0-9]{{43}}(?!{_A})"),
    ("clojars-token", "CLOJARS_[a-z0-9]{60,}+"),
    ("docker-token", f"dckr_(?:pat|oat)_{_W}{{20,}}+"),
    ("artifactory-token", f"AKC{_A}{{60,}}+|cmVmd{_A}{{59,}}+"),
    ("huggingface-token", f"(?:hf|api_org)_{_A}{{30,}}+"),
    ("replicate-token", f"r8_{_A}{{30,}}+"),
    ("groq-key", f"gsk_{_A}{{40,}}+"),
    ("xai-key", f"xai-{_A}{{40,}}+"),
    ("perplexity-key", f"pplx-{_A}{{32,}}+"),
    ("fireworks-key", f"fw_(?=[A-Za-z]{{0,40}}+\\d){_A}{{20,}}+"),
    ("nvidia-key", f"nvapi-{_W}{{40,}}+"),
    ("cerebras-key", "csk-[a-z0-9]{40,}+"),
    ("tavily-key", f"tvly-{_W}{{20,}}+"),
    ("langsmith-key", rf"lsv2_(?:pt|sk)_{_HEX}{{32}}_\w{{10,}}+"),
    ("pinecone-key", r"pcsk_\w{40,}+"),
    ("digitalocean-token", f"do[oprt]_v1_{_HEX}{{64,}}+"),
    ("heroku-key", f"HRKU-{_W}{{36,}}+"),
    ("netlify-token", f"nf[pocu]_{_A}{{36,}}+"),
    ("vercel-token", f"vc[pikar]_{_A}{{24,}}+"),
    ("fly-token", rf"(?:FlyV1 )?fm\d[ar]?_[\w+/=,-]{{60,}}+|fo1_{_W}{{43,}}+"),
    ("cloudflare-key", rf"v1\.0-{_HEX}{{24}}-{_HEX}{{100,}}+|cf(?:ut|at|k)_{_A}{{40,}}+"),
    ("linear-key", f"lin_(?:api|oauth)_{_A}{{32,}}+"),
    ("notion-token", f"ntn_{_A}{{40,}}+|secret_{_A}{{43}}(?!{_A})"),
    ("airtable-token", rf"pat{_A}{{14}}\.{_HEX}{{64,}}+"),
    ("asana-token", rf"\d/\d{{15,17}}+(?:/\d{{15,17}}+)?:{_HEX}{{32,}}+"),
    ("atlassian-token", r"AT(?:ATT|CTT|BB|OA)[A-Za-z0-9_=-]{28,}+"),
    ("hubspot-token", rf"pat-(?:na|eu|ap)\d-{_UUID}"),
    ("contentful-token", f"CFPAT-{_W}{{40,}}+"),
    ("typeform-token", r"tfp_[\w=.-]{40,}+"),
    ("shopify-token", f"shp(?:at|ca|pa|ss|ua|tka)_{_A}{{32,}}+"),
    ("square-token", f"sq0[a-z]{{3}}-{_W}{{22,}}+|EAAA{_W}{{60}}(?!{_W})"),
    ("paypal-token", rf"access_token\$(?:production|sandbox)\$[a-z0-9]{{16}}\${_HEX}{{32,}}+"),
    ("plaid-token", f"access-(?:sandbox|development|production)-{_UUID}"),
    ("razorpay-key", f"rzp_(?:live|test)_{_A}{{14,}}+"),
    ("flutterwave-key", rf"FLWSECK(?:_TEST)?-{_A}{{12,}}+(?:-X)?"),
    ("easypost-key", f"EZ[AT]K{_A}{{54,}}+"),
    ("shippo-token", f"shippo_(?:live|test)_{_HEX}{{40,}}+"),
    ("amazon-mws-token", rf"amzn\.mws\.{_UUID}"),
    ("databricks-token", rf"dapi{_HEX}{{32}}(?:-\d)?(?!{_A})"),
    ("doppler-token", rf"dp\.(?:pt|st|ct|sa|scim|audit)\.(?:[a-z0-9_-]{{2,35}}\.)?{_A}{{40,}}+"),
    ("vault-token", rf"hv[sbr]\.{_W}{{24,}}+"),
    ("terraform-token", rf"{_A}{{14}}\.atlasv1\.{_W}{{60,}}+"),
    ("pulumi-token", f"pul-{_HEX}{{40,}}+"),
    ("grafana-token", rf"glsa_{_A}{{32}}_{_HEX}{{8,}}+|glc_[A-Za-z0-9+/=]{{32,}}+"),
    ("newrelic-key", f"NR(?:AK|II|JS|RA|IQ)-{_A}{{19,}}+"),
    ("dynatrace-token", r"dt0[a-z]\d\d\.[A-Z0-9]{24}\.[A-Z0-9]{64,}+"),
    ("sentry-token", r"sntry[su]_[A-Za-z0-9+/=_-]{40,}+"),
    ("sonar-token", f"sq[apu]_{_HEX}{{40,}}+"),
    ("sourcegraph-token", rf"sgp_(?:{_A}{{1,16}}_)?{_HEX}{{40,}}+"),
    ("circleci-token", rf"CCI(?:PAT|PRJ)_{_A}{{10,30}}+_{_HEX}{{40,}}+"),
    ("buildkite-token", f"bk[a-z]{{2}}_{_A}{{40,}}+"),
    ("postman-key", f"PMAK-{_HEX}{{24}}-{_HEX}{{34,}}+"),
    ("figma-token", f"fig[a-z]{{1,2}}_{_W}{{40,}}+"),
    ("mapbox-token", rf"sk\.eyJ{_W}{{30,400}}+\.{_W}{{20,}}+"),
    ("supabase-key", f"sbp_(?:oauth_)?{_HEX}{{40,}}+|sb_secret_{_W}{{20,}}+"),
    ("planetscale-token", r"pscale_[a-z]{2,10}_[\w=.-]{32,}+"),
    ("prefect-key", "pn[bu]_[A-Za-z0-9]{36,}+"),
    ("readme-key", "rdme_[a-z0-9]{60,}+"),
    ("tailscale-key", rf"tskey-[a-z]{{3,12}}-{_W}{{20,}}+"),
    ("openshift-token", f"sha256~{_W}{{43,}}+"),
    ("1password-token", r"ops_eyJ[\w=+/-]{100,}+|A3-[A-Z0-9]{6}(?:-[A-Z0-9]{5,11}){4,6}(?![A-Z0-9])"),
    ("harness-token", rf"[ps]at\.{_W}{{22}}\.{_HEX}{{24}}\.{_A}{{20,}}+"),
    ("wallet-key", rf"[xyztuv]prv[1-9A-HJ-NP-Za-km-z]{{100,}}+|nsec1[a-z0-9]{{58}}(?!{_A})"),
)


@cache  # compiling takes ten milliseconds, and most texts never get here
def _form() -> re.Pattern[str]:
    return re.compile(rf"(?<!{_A})(?:{'|'.join(form for _, form in _FORMS)}){_A}*+", re.ASCII)


def _by_form(view: str) -> Iterator[_Span]:
    for match in _form().finditer(view):  # groups would tell the kind at once and take ten times as long
        kind = next(kind for kind, form in _FORMS if re.compile(form, re.ASCII).match(view, match.start()))
        end = match.start() + len(match[0].rstrip("."))
        rest = _REST.match(view, end)
        yield match.start(), rest.end() if rest and kind != "private-key" else end, 0, kind


# What a token goes on with on the next line: nothing that reads as a word, a number, a hash or the name of something.
_REST = re.compile(
    rf"{_LINE_BREAK}(?=[\w-]{{0,99}}[a-z])(?=[\w-]{{0,99}}[A-Z])(?=[\w-]{{0,99}}\d)(?![A-Za-z]+\d+(?![\w-]))[\w-]{{8,}}+(?![.:=/@])",
    re.ASCII,
)


def _broken(even: str, cuts: list[_Span]) -> Iterator[_Span]:
    """Yield the tokens that show only when two lines are read as one; what is whole on its line was cut before."""
    if not _BROKEN.search(even):
        return
    view, at = _without(even, _GONE, cuts)
    for line_break in _BREAK.finditer(view):
        before = view[max(0, line_break.start() - _LONGEST) : line_break.start()].rsplit(None, 1)[-1]
        piece = before + view[line_break.end() : line_break.end() + 2 * _LONGEST].split(None, 1)[0]
        if len(piece) < 20:
            continue
        for start, end, rank, kind in _by_form(piece):
            if start < len(before) < end and _ODD_FOR_A_LINE.search(piece, len(before), end):
                first, last = line_break.start() - len(before) + start, line_break.end() - len(before) + end
                yield at[first], at[last - 1] + 1, rank, kind


_NUMBER = re.compile(
    r"\d(?:(?<=[a-z]{2}.)(?<!\w[a-z]{2}.)(?P<iban>\d)(?=[ -]?[a-z0-9]{4})"
    r"|(?<![\w+].)(?<!\d[.,].)(?:(?P<card>\d{11,18}|\d{3}(?P<by>[ -])\d{4}(?P=by)\d{4}(?P=by)\d{4}|\d{3}[ -]\d{6}[ -]\d{4,5})"
    r"|(?P<ssn>\d\d-(?!00)\d\d-(?!0000)\d{4}))(?!\w|-\d))",
    re.ASCII,
)
_ISSUED = re.compile(
    r"4(?:\d{12}|\d{15}|\d{18})|5[1-5]\d{14}|2(?:22[1-9]|2[3-9]\d|[3-6]\d\d|7[01]\d|720)\d{12}|3[47]\d{13}|(?:1800|2131)\d{11}"
    r"|3(?:0[0-5]|[689]\d)\d{11}|35\d{14}|6(?:011|4[4-9]\d|5\d\d)\d{12,15}|62\d{14,17}"
    r"|(?:5018|5020|5038|5893|6304|6759|676[1-3])\d{8,15}"
)
_IBAN_LENGTHS = dict(
    re.findall(
        r"([a-z]{2})(\d\d)",
        """ad24 ae23 al28 at20 az28 ba20 be16 bg22 bh22 br29 by28 ch21 cr22 cy28 cz24 de22 dk18 do28 ee20 eg29 es24 fi18 fo18
        fr27 gb22 ge22 gi23 gl18 gr27 gt28 hr21 hu28 ie22 il23 iq23 is26 it27 jo30 kw30 kz20 lb28 lc32 li21 lt20 lu20 lv21 ly25
        mc27 md24 me22 mk19 mr27 mt31 mu30 nl18 no15 pk24 pl28 ps29 pt25 qa29 ro24 rs22 sa24 sc31 sd18 se24 si19 sk24 sm27 st25
        sv28 tl23 tn24 tr26 ua29 va22 vg24 xk20""",
    )
)


def _by_checksum(low: str) -> Iterator[_Span]:
    for match in _NUMBER.finditer(low):
        start, end = match.span()
        if match["iban"]:
            start -= 2
            if end := _end_of_iban(low, start):
                yield start, end, 1, "iban"
        elif match["ssn"]:
            if match[0][:3] not in ("000", "666") and match[0][0] != "9":
                yield start, end, 1, "ssn"
        elif _is_card(match[0], low[max(0, start - 40) : start]):
            yield start, end, 1, "card"


def _is_card(written: str, before: str) -> bool:
    digits = re.sub("[ -]", "", written)
    doubled = sum(sum(divmod(2 * int(digit), 10)) for digit in digits[-2::-2])
    if (doubled + sum(map(int, digits[-1::-2]))) % 10:
        return False
    return _ISSUED.fullmatch(digits) is not None or "card" in before or "tarjeta" in before


def _end_of_iban(low: str, start: int) -> int:
    """Return where the IBAN ends that starts here, or 0."""
    length = int(_IBAN_LENGTHS.get(low[start : start + 2], 99))
    written = re.match(rf"[a-z0-9](?:[ -]?[a-z0-9]){{{length - 1}}}(?![a-z0-9])", low[start : start + 2 * length])
    code = re.sub("[ -]", "", written[0]) if written else ""
    is_right = code and int("".join(str(int(sign, 36)) for sign in code[4:] + code[:4])) % 97 == 1
    return start + written.end() if written and is_right else 0


# What stands before a secret. How much its value must look like one depends on the name: after a `word` nearly anything counts,
# after a `key` a token of letters and digits, after a `loose` name something with a digit, after a `weak` one a long token.
_NAME = re.compile(
    "pass(?:word|wd|phrase|code|wort)?|pwd|pw(?![a-z])|contra(?:sena)?"
    "|clave(?: privada| secreta| de acceso| (?:de )?(?:la )?api)?|llave(?: privada| secreta| (?:de )?(?:la )?api)?"
    "|key|token(?: de (?:acceso|api|sesion|seguridad))?|secreto?|credentials?|credencial(?:es)?|sess(?:ion)?[_-]?id"
)
_NAMES = tuple(
    (kind, level, re.compile(rf"(?:{name})\Z"))
    for kind, level, name in (
        ("aws-secret-key", "key", "aws[_ -]?secret[_ -]?(?:access[_ -]?)?key|secret[_ -]?access[_ -]?key"),
        ("azure-key", "key", "account[_-]?key|shared[_ -]?access[_ -]?key"),
        ("private-key", "key", "private[_ -]?key|privada"),
        ("", "", "(?:public|primary|foreign|cache|partition|sort|group|shortcut|answer)[_ -]?key"),
        (
            "api-key",
            "key",
            "(?:api|auth|access|secret|sign(?:ing)?|encryption|master|service|role|subscription|license|account|admin)[_ -]?key"
            "|secreta| api",
        ),
        (
            "token",
            "key",
            "(?:access|auth|api|refresh|bearer|bot|session|id|personal|deploy|security|device|csrf|xsrf)[_ -]?token"
            "|token de .*|sess(?:ion)?[_-]?id",
        ),
        ("secret", "key", "(?:client|app|consumer|webhook|signing|shared|jwt|api|oauth|cookie)[_ -]?secret|credential.*"),
        ("password", "phrase", "passphrase"),
        ("password", "word", "pass(?:word|wd|code|wort)|(?<=_)pass|pwd|contrasena"),
        ("password", "loose", "clave(?: de acceso)?|(?<![a-z])(?:contra|pass|pw)"),
        ("token", "weak", "token"),
        ("secret", "weak", "secreto?"),
        ("api-key", "weak", "key|llave"),
    )
)
_OF = r"(?: (?:for|to|of|on|at|in|from|de|del|para|en|al) [\w@.'/ -]{1,40}?| (?:wi-?fi|router|e?mail|correo|card|tarjeta|red))"
_BEING = "(?:is|was|will be|has been|remains|stays|es|era|fue|sera|va a ser|ha sido|(?:sigue|continua) siendo|sigue igual,)"
_TYPE = r" {0,2}&?(?:optional\[)?(?:(?:secret_?)?str(?:ing)?|text|bytes|any|char)\]?\??(?: ?\| ?(?:none|null|undefined))? {0,2}"
_THEN = re.compile(
    r"(?:[_-]?(?:\d{1,2}|prod(?:uction)?|dev|test|staging|live|local|db|value|b64))?(?:"
    rf"(?: \([^()\n]{{1,30}}\))?{_OF}?(?:"
    r"(?P<line>[\"'`*]{0,3}[^\S\n]{0,4}(?::(?:\*\*)?[^\S\n]{0,4}\n)?[^\S\n]{0,4}\n\s{0,8}(?=\S))"
    rf"|(?P<code>\\*[\"'`*\]]{{0,4}}[^\S\n]{{0,4}}(?:[:=!]?={{1,3}}>?|:{_TYPE}=|:|\|(?!\|))(?:\*\*)?[^\S\n]{{0,8}}"
    r"(?:\n[^\S\n]{0,8})?(?:(?:\{\s{0,16})?\\*[\"']?val(?:ue|or)\\*[\"']?\s{0,3}[:=]\s{0,3})?"
    r"|\\*[\"'],?\s{0,3}\\*[\"']?val(?:ue|or)\\*[\"']?\s{0,3}[:=]\s{0,3})"
    rf"|(?P<says>(?:'s| {_BEING})(?: (?:now|ahora|currently|just|still|todavia|aun))?:?[^\S\n]{{1,4}}))"
    r"|(?P<tag>>)|(?P<call>\(\s{0,3}(?=\\*[\"']))|(?P<to> (?:to|as|a|por) )|(?P<bare>[^\S\n](?=\S{0,40}\d))|(?P<flag>[^\S\n]))",
    re.ASCII,
)
_BEFORE = {
    "flag": re.compile(r"(?<!\S)-[\w-]*\Z", re.ASCII),
    "tag": re.compile(r"<[\w:.-]*\Z", re.ASCII),
    "call": re.compile(r"(?:(?<![a-z])(?:set|with|change|update|use)_?(?:(?:db|user|new|the|api|access|auth)_?)?|\.)\Z"),
    "line": re.compile(r"(?:\A(?!.{32})|\n)(?:[^\s.!?;]+ ){0,5}[^\s.!?;]*\Z"),  # little else on its line
}
_QUOTED = re.compile(rf"""(\\*(?:["'`]{{1,3}}|\*\*))((?:[^"'`*\\\n{_MARK}]++|(?!\1)(?:\\.|[^\n{_MARK}]))++)(?=\1)""")
_UNQUOTED = re.compile(
    rf"""(?:\\*["'`*]{{1,3}})?((?:[^\s"'`<>,;&|\\{_MARK}]++|[,;&|](?![\w .-]{{1,40}}[=:])|\\++(?!["']))++)""", re.ASCII
)
_LONGEST = 128  # characters looked at to tell whether a value is one
_CLOSING = ".,;:?)]}*|"  # what may follow a value without being part of it


def _by_name(view: str, low: str) -> Iterator[_Span]:
    at = 0
    while name := _NAME.search(low, at):
        at = name.end()
        if not (then := _THEN.match(low, at)):
            continue
        form = then.lastgroup or ""
        before = low[max(0, name.start() - 32) : name.start()]
        is_set_apart = form in _BEFORE
        if is_set_apart:
            if not _BEFORE[form].search(before):
                continue
            form, is_set_apart = ("line", False) if form == "line" else ("code", True)
        limit = then.end() + _LONGEST
        word = None
        if quoted := _QUOTED.match(view, then.end(), limit):
            is_set_apart = True
            start, end = quoted.span(2)
        elif word := _UNQUOTED.match(view, then.end(), limit):
            start = word.start(1)
            end = start + len(word[1].rstrip(_CLOSING))
        else:
            continue
        kind, level = next(((kind, level) for kind, level, named in _NAMES if named.search(before + name[0])), ("", ""))
        if kind and _is_secret(view[start:end], level, form, then[0], is_set_apart, view[end : end + 8]):
            if word and word.end() == limit and (whole := _UNQUOTED.match(view, start)):
                end = whole.end()
            yield start, end, 2, kind
            at = end


_STAND_IN = re.compile(  # what is written where a secret would be: a variable, a call, a blank to fill in, a path, a type
    r"\$(?:[A-Z_][A-Z0-9_]*|[{(].*)|<[^>]*>?|\{\{.*|\{[\w.]*\}|[\[(].*|%\w*%|%\(.*|(.)\1*"
    r"|(?i:your|my|tu|mi|some|the|example|xxx)[_ -]\D*|(?i:.*[_-]here)|[a-z]+(?:_[a-z]+)+|[A-Za-z_]+(?:\.[A-Za-z_]+)+"
    r"|[A-Za-z_.]+[(\[].*|[A-Za-z_]\w*(?:\.\w+)+\(.*|(?i:https?:).*|[~.]{1,2}/.*|/[a-z.-]{2,12}/.*"
    r"|(?i:true|false|null|none|nil|undefined|string|text|bytes|char|varchar|object|number|integer|boolean|optional|required"
    r"|pass(?:word|wd)?|pwd?|secret|token|clave|contrase[nñ]a)",
    re.ASCII | re.DOTALL,
)
_AMOUNT = re.compile(r"\d{1,3}(?:-.*|,\d{3}.*)")
_NAMED_AGAIN = re.compile("pass|pwd|secre|token|key|clave|contra|llave")
_TURN = re.compile("[A-Za-z](?=[0-9])|[0-9](?=[A-Za-z])")
_ODD_FOR_A_LINE = re.compile("[0-9]|[a-z][A-Z]|[A-Z]{4}")
_ODD_FOR_A_WORD = re.compile(r"\d|[^\w.,;:'/-]|[a-z][A-Z]")
_LINE_ENDS = re.compile(r"[\"'`*]{0,3}[^\S\n]*(?:\n|\Z)")
_SENTENCE_ENDS = re.compile(r"[\"'`*)]{0,3}(?:\s*\Z|[.!?,;]|\n| (?:and|but|so|y|pero)\b)")
_SAID_OF_PASSWORDS = re.compile(
    ".*(?:ed|ing|ly|able|ible|less|ful|ado|ada|ido|ida|ando|iendo|mente)|mandatory|empty|blank|unknown|default|wrong|weak|strong"
    "|right|(?:in)?correct[ao]?|(?:in)?valid[ao]?|different|same|short|long|simple|easy|hard|complex|(?:in)?secure|(?:un)?safe"
    "|gone|lost|bad|good|great|okay|fine|here|there|above|below|this|that|these|those|mine|yours|what|which|when|where|with|from"
    "|like|about|only|also|very|quite|really|always|never|visible|hidden|missing|unique|enough|case|private|public|important"
    "|essential|necessary|stupid|silly|fuerte|debil|larg[ao]|cort[ao]|segur[ao]|facil|dificil|nuev[ao]|viej[ao]"
    "|distint[ao]|diferente|mism[ao]|buen[ao]|mal[ao]|bien|aqui|est[ao]|es[ao]|otr[ao]|para|como|cuando|donde|porque|tambien"
    "|siempre|nunca|solo|demasiado"
)


def _is_secret(value: str, level: str, form: str, gap: str, is_set_apart: bool, after: str) -> bool:
    """Tell whether what stands behind a name is its value, rather than a word of the sentence or a variable."""
    has_digit = any(map(str.isdigit, value))
    if len(value) < 4 or _STAND_IN.fullmatch(value) or _AMOUNT.fullmatch(value):
        return False
    if not has_digit and _NAMED_AGAIN.search(value.lower()):
        return False
    if form == "line" and (not _LINE_ENDS.match(after) or len(value) < (6 if level in ("word", "loose", "phrase") else 16)):
        return False
    if level in ("key", "weak") or form in ("to", "bare", "line"):
        turns = len(_TURN.findall(value))
        if not turns or " " in value:
            return False
        if form in ("to", "bare"):
            return level == "word" and len(value) >= 6 and _SENTENCE_ENDS.match(after) is not None
        if form == "line" and level not in ("key", "weak"):
            return True
        if level == "key":
            return len(value) >= 8 and turns > (form != "code")
        # Randomness, cautiously: paths, slugs and dates change from letters to digits at a sign, tokens within.
        return len(value) >= (12 if form == "code" else 16) and turns >= 3 and len(set(value)) >= 8
    if " " in value:
        return is_set_apart and form == "code" and (has_digit or value.count(" ") < 2 or level == "phrase")
    if level == "loose":
        return value.isdecimal() or (has_digit and (value[0].isalpha() or re.fullmatch(r"\S*=", gap) is not None))
    if _ODD_FOR_A_WORD.search(value) or (form == "code" and (is_set_apart or re.fullmatch(r"\S*=", gap))):
        return True
    is_last = _SENTENCE_ENDS.match(after) is not None and not (form == "code" and "=" in gap)
    return is_last and not _SAID_OF_PASSWORDS.fullmatch(plain(value.lower()))


_MY = "(?:my|your|the|our|this|mi|tu|su|el|la|este)"
_IS = r"[\"'`*]{0,3}\s{0,2}(?:[:=#]|is|es|was|era|fue)(?: (?:now|ahora))?[\s\"'`*:]{0,4}"
_IS_OR_NOT = rf"(?:{_IS}|[\s\"'`*:#-]{{1,4}})"
_NO_MORE = r"(?!\w|[.,:/-]\d)"
_SHORT_CODE = rf"((?:g-)?\d{{3,4}}[ -]\d{{3,4}}|(?:g-)?\d{{4,8}}){_NO_MORE}"
_SSN = rf"(\d{{3}}[ -]?\d\d[ -]?\d{{4}}){_NO_MORE}"
_CODE_FOR = (
    "verification|security|access|log-?in|sign-?in|one[- ]time|otp|2fa|mfa|two[- ]factor|auth(?:entication)?|sms|door|gate"
    "|alarm|entry|garage|safe|locker|unlock|building|lock"
)
_CODIGO_DE = "verificacion|seguridad|acceso|entrada|puerta|alarma|garaje|portal"
_DATABASES = "postgres|mysql|maria|mongo|redis|valkey|amqp|mssql|sqlserver|oracle|clickhouse|cockroach|nats|kafka"
_SEED_WORD = r"(?:\d{1,2}[.):]? ?)?(?!(?:the|and|for|are|was|with|from|have|not|but|your|our|which|when)[^a-z])[a-z]{3,8}"
_SEEDS = (
    r"[^\n]{0,40}?(?:[:=\n]| is| es)[\s\"'`*]{0,4}"
    rf"({_SEED_WORD}([\s,]{{1,3}}){_SEED_WORD}(?:\2{_SEED_WORD}){{10,22}}+)(?![a-z])"
)
_RECOVERY_CODE = r"(?=[a-z-]{0,20}\d)(?:[a-z0-9]{4,8}(?:-[a-z0-9]{4,8}){1,5}|[a-z0-9]{8,16}|\d{4} \d{4})(?![\w-])"
_RECOVERY_CODES = (
    r"[^\n]{0,30}?(?:[:=\n]| is| are| es| son)[\s\"'`*\[-]{0,6}"
    rf"({_RECOVERY_CODE}(?:[\s,\"'`*]{{1,6}}{_RECOVERY_CODE}){{0,19}}+)"
)
_URL_PASSWORD = rf"://[^\s:/@\"'<>`{_MARK}]{{0,64}}:([^\s/?\"'<>`{_MARK}]{{1,128}})@(?=[\w.\[-])"
_OPTION = rf"[\"']?(?!\d{{1,5}}(?!\S))([^\s\"'{_MARK}-][^\s\"'{_MARK}]{{2,127}})"  # -P3306 is a port
# Kind, words of which one is there, what stands right before the match, the match, and in it the secret. The match begins with
# plain letters and what is before it is looked at afterwards, since a search for letters is far faster.
_PLACES = (
    ("pin", ("pin",), "(?<![a-z])", rf"pin(?: (?:code|number))?(?:{_IS_OR_NOT}|{_OF}{_IS})(\d{{4,8}}){_NO_MORE}"),
    ("cvv", ("cvv", "cvc", "csc"), "(?<![a-z])", rf"c(?:v[vc]2?|sc){_IS_OR_NOT}(\d{{3,4}}){_NO_MORE}"),
    ("ssn", ("ssn",), "(?<![a-z])", rf"ssn{_IS_OR_NOT}{_SSN}"),
    ("ssn", ("social sec",), "", rf"social security(?: number| no\.?)?{_IS_OR_NOT}{_SSN}"),
    ("access-code", ("code",), rf"(?<![a-z])(?:{_CODE_FOR})[ -]", rf"code(?:{_IS_OR_NOT}|{_OF}{_IS}){_SHORT_CODE}"),
    ("access-code", ("code", "codigo"), f"(?<![a-z]){_MY} ", rf"cod(?:e|igo){_OF}?{_IS}{_SHORT_CODE}"),
    ("access-code", ("otp", "2fa"), "(?<![a-z])", rf"(?:otp|2fa)(?: code)?{_IS_OR_NOT}{_SHORT_CODE}"),
    ("access-code", ("codigo de",), "", rf"codigo de (?:la |tu |mi )?(?:{_CODIGO_DE}){_IS_OR_NOT}{_SHORT_CODE}"),
    ("seed-phrase", ("phrase", "words"), "(?:seed|recovery|secret|backup|mnemonic|wallet)[ -]?", f"(?:phrase|words){_SEEDS}"),
    ("seed-phrase", ("mnemonic", "frase"), "", f"(?:mnemonic|frase (?:semilla|de recuperacion|secreta)){_SEEDS}"),
    ("recovery-code", ("code", "key"), "(?:recovery|backup|scratch)[ _-]", f"(?:code|key)s?{_RECOVERY_CODES}"),
    ("recovery-code", ("codigo",), "", f"codigos? de (?:recuperacion|respaldo){_RECOVERY_CODES}"),
    ("connection-string", ("://",), rf"(?:{_DATABASES})[\w+:]*", _URL_PASSWORD),
    ("password", ("://",), "", _URL_PASSWORD),
    ("password", ("-u ", "--user"), r"(?<!\S)", rf"-(?:u|-user)[ =]\\?[\"']?[\w.@+-]{{1,64}}:([^\s\"'\\{_MARK}]{{1,128}}+)"),
    ("password", ("mysql", "mariadb"), r"(?<![\w/-])", rf"m(?:ysql|ariadb)[\w-]{{0,12}}(?= )[^\n;|]{{0,160}}? -p{_OPTION}"),
    ("password", ("sshpass",), r"(?<![\w/-])", rf"sshpass -p ?{_OPTION}"),
    ("basic-auth", ("basic",), "authorization.{1,8}", r"basic\s{1,3}([\w+/]{8,}+=*)"),
    ("basic-auth", ("basic",), "(?<![a-z])", r"basic\s{1,3}([\w+/]{8,}+={1,2})"),
    ("bearer-token", ("bearer",), "(?<![a-z])", r"bearer\s{1,3}(?=\S{0,80}\d)([\w.~+/-]{16,}+=*)"),
    (
        "bearer-token",
        ("authori",),
        "",
        r"authorization\\*[\"']?[:=, ]{1,4}\\*[\"']?(?:[a-z]{3,8} )?(?=\S{0,80}\d)([\w.~+/=:-]{16,}+)",
    ),
    ("signature", ("sig=", "signature="), "[?&](?:x-amz-|x-goog-)?", r"sig(?:nature)?=([\w%+/-]{30,}+=*)"),
)
_SAID_FIRST = re.compile(
    rf" (?:is|es|as|como) {_MY} (?:[\w-]{{1,20}} ){{0,3}}?"
    r"(?:(pass(?:word|code)|contrasena|clave)|pin|code|otp|codigo)(?![\w-])",
    re.ASCII,
)
_SAID_WORD = re.compile(r"(?<![^\s\"'`])(?=\S*\d)[^\s\"'`]{4,64}(?=[\"'`]?\Z)")
_SAID_CODE = re.compile(r"(?<![\w-])(?:[Gg]-)?(?:\d{4,8}|\d{3}[ -]\d{3})(?=[\"'`]?\Z)", re.ASCII)


@cache
def _places() -> list[tuple[str, tuple[str, ...], re.Pattern[str], re.Pattern[str]]]:
    return [(kind, hints, re.compile(rf"(?:{ahead})\Z"), re.compile(place, re.ASCII)) for kind, hints, ahead, place in _PLACES]


def _by_place(view: str, low: str) -> Iterator[_Span]:
    for rank, (kind, hints, ahead, place) in enumerate(_places(), 3):
        if any(hint in low for hint in hints):
            for match in place.finditer(low):
                start, end = match.span(1)
                is_here = ahead.search(low[max(0, match.start() - 24) : match.start()])
                if is_here and not _STAND_IN.fullmatch(view[start:end]):
                    yield start, end, rank, kind
    for match in _SAID_FIRST.finditer(low):
        start = max(0, match.start() - 66)
        said = (_SAID_WORD if match[1] else _SAID_CODE).search(view[start : match.start()])
        if said and not _STAND_IN.fullmatch(said[0]):
            yield start + said.start(), start + said.end(), 99, "password" if match[1] else "access-code"
