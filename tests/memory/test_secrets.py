"""What is cut out of a text before anything keeps it, and what is left alone (A11).

Every secret here is drawn when the test runs: none of them stands in this file, and none opens anything.
"""

import json
import random
import re
from collections.abc import Callable

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from reverie import BadInput
from reverie.memory.secrets import Cut, cut_secrets

DIGITS = "0123456789"
HEX = DIGITS + "abcdef"
SMALL = "abcdefghijklmnopqrstuvwxyz"
CAPITALS = SMALL.upper() + DIGITS
MIXED = SMALL + CAPITALS
WIDE = MIXED + "_"
BASE64 = MIXED + "+/"
BASE58 = "".join(sign for sign in MIXED if sign not in "0OIl")
chance = random.Random(6)


def drawn(signs: str, length: int) -> str:
    """Return random characters that end in one no rule for closing punctuation takes off."""
    return "".join(chance.choices(signs, k=length - 2)) + "".join(
        chance.choices([sign for sign in signs if sign.isalnum()], k=2)
    )


def uuid() -> str:
    return "-".join(drawn(HEX, length) for length in (8, 4, 4, 4, 12))


def armoured(label: str, lines: int = 6) -> str:
    body = "\n".join(drawn(BASE64, 64) for _ in range(lines))
    return f"-----BEGIN {label}-----\n{body}\n-----END {label}-----"


def lowered(amount: int) -> str:
    return drawn(SMALL + DIGITS, amount)


def card(prefix: str, length: int) -> str:
    digits = prefix + drawn(DIGITS, length - len(prefix) - 1)
    return next(whole for last in DIGITS if luhn(whole := digits + last))


def luhn(digits: str) -> bool:
    odd, even = digits[-1::-2], digits[-2::-2]
    return (sum(map(int, odd)) + sum(int(digit) * 2 // 10 + int(digit) * 2 % 10 for digit in even)) % 10 == 0


def iban(country: str, account: str) -> str:
    value = int("".join(str(int(sign, 36)) for sign in account + country + "00"))
    return f"{country}{98 - value % 97:02}{account}"


FORMATS = [
    ("aws-key", "AKIA" + drawn(CAPITALS, 16)),
    ("aws-key", "ASIA" + drawn(CAPITALS, 16)),
    ("alibaba-key", "LTAI" + drawn(MIXED, 20)),
    ("tencent-key", "AKID" + drawn(MIXED, 32)),
    ("yandex-key", "AQVN" + drawn(WIDE, 36)),
    ("github-token", "ghp_" + drawn(MIXED, 36)),
    ("github-token", "gho_" + drawn(MIXED, 36)),
    ("github-token", "ghu_" + drawn(MIXED, 36)),
    ("github-token", "ghs_" + drawn(MIXED, 36)),
    ("github-token", "ghr_" + drawn(MIXED, 76)),
    ("github-token", "github_pat_" + drawn(MIXED, 22) + "_" + drawn(MIXED, 59)),
    ("gitlab-token", "glpat-" + drawn(WIDE, 20)),
    ("gitlab-token", "glrt-" + drawn(WIDE, 20)),
    ("slack-token", "xoxb-" + drawn(DIGITS, 12) + "-" + drawn(DIGITS, 13) + "-" + drawn(MIXED, 24)),
    ("slack-token", "xoxp-" + drawn(DIGITS, 12) + "-" + drawn(HEX, 32)),
    ("slack-token", "xapp-1-" + drawn(CAPITALS, 11) + "-" + drawn(DIGITS, 13) + "-" + drawn(HEX, 64)),
    ("slack-webhook", "hooks.slack.com/services/" + "/".join((drawn(CAPITALS, 9), drawn(CAPITALS, 9), drawn(MIXED, 24)))),
    ("teams-webhook", "acme.webhook.office.com/webhookb2/" + uuid() + "@" + uuid() + "/IncomingWebhook/" + drawn(HEX, 32)),
    ("discord-webhook", "discord.com/api/webhooks/" + drawn(DIGITS, 18) + "/" + drawn(WIDE, 68)),
    ("discord-token", "M" + drawn(MIXED, 25) + "." + drawn(MIXED, 6) + "." + drawn(WIDE, 38)),
    ("telegram-token", "7" + drawn(DIGITS, 9) + ":AA" + drawn(WIDE, 33)),
    ("zapier-webhook", "hooks.zapier.com/hooks/catch/" + drawn(DIGITS, 7) + "/" + lowered(7)),
    ("stripe-key", "sk_live_" + drawn(MIXED, 24)),
    ("stripe-key", "rk_test_" + drawn(MIXED, 99)),
    ("stripe-key", "whsec_" + drawn(MIXED, 32)),
    ("openai-key", "sk-" + drawn(MIXED, 48)),
    ("openai-key", "sk-proj-" + drawn(WIDE, 120)),
    ("anthropic-key", "sk-ant-api03-" + drawn(WIDE, 95)),
    ("openrouter-key", "sk-or-v1-" + drawn(HEX, 64)),
    ("langfuse-key", "sk-lf-" + uuid()),
    ("elevenlabs-key", "sk_" + drawn(HEX, 48)),
    ("google-key", "AIza" + drawn(WIDE, 35)),
    ("google-token", "GOCSPX-" + drawn(WIDE, 28)),
    ("google-token", "ya29." + drawn(WIDE, 120)),
    ("google-token", "1//0" + drawn(WIDE, 60)),
    ("azure-secret", drawn(MIXED, 3) + "8Q~" + drawn(MIXED, 34)),
    ("facebook-token", "EAAC" + drawn(MIXED, 100)),
    ("twitter-token", "A" * 22 + drawn(HEX, 30) + "%3D" + drawn(MIXED, 40)),
    ("twitch-token", "oauth:" + lowered(30)),
    ("dropbox-token", "sl.u." + drawn(WIDE, 130)),
    ("twilio-key", "SK" + drawn(HEX, 32)),
    ("twilio-key", "AC" + drawn(HEX, 32)),
    ("sendgrid-key", "SG." + drawn(WIDE, 22) + "." + drawn(WIDE, 43)),
    ("mailgun-key", "key-" + drawn(HEX, 32)),
    ("mailgun-key", drawn(HEX, 32) + "-" + drawn(HEX, 8) + "-" + drawn(HEX, 8)),
    ("mailchimp-key", drawn(HEX, 32) + "-us21"),
    ("brevo-key", "xkeysib-" + drawn(HEX, 64) + "-" + drawn(MIXED, 16)),
    ("npm-token", "npm_" + drawn(MIXED, 36)),
    ("pypi-token", "pypi-AgEIcHlwaS5vcmc" + drawn(WIDE, 100)),
    ("rubygems-key", "rubygems_" + drawn(HEX, 48)),
    ("crates-token", "cio" + drawn(MIXED, 32)),
    ("nuget-key", "oy2" + lowered(43)),
    ("clojars-token", "CLOJARS_" + lowered(60)),
    ("docker-token", "dckr_pat_" + drawn(WIDE, 27)),
    ("artifactory-token", "AKC" + drawn(MIXED, 70)),
    ("huggingface-token", "hf_" + drawn(SMALL + SMALL.upper(), 34)),
    ("replicate-token", "r8_" + drawn(MIXED, 37)),
    ("groq-key", "gsk_" + drawn(MIXED, 52)),
    ("xai-key", "xai-" + drawn(MIXED, 80)),
    ("perplexity-key", "pplx-" + drawn(MIXED, 48)),
    ("fireworks-key", "fw_" + drawn(MIXED, 24)),
    ("nvidia-key", "nvapi-" + drawn(WIDE, 64)),
    ("cerebras-key", "csk-" + lowered(48)),
    ("tavily-key", "tvly-" + drawn(MIXED, 32)),
    ("langsmith-key", "lsv2_pt_" + drawn(HEX, 32) + "_" + drawn(HEX, 10)),
    ("pinecone-key", "pcsk_" + drawn(WIDE, 66)),
    ("digitalocean-token", "dop_v1_" + drawn(HEX, 64)),
    ("heroku-key", "HRKU-" + uuid()),
    ("netlify-token", "nfp_" + drawn(MIXED, 36)),
    ("fly-token", "fo1_" + drawn(WIDE, 43)),
    ("cloudflare-key", "v1.0-" + drawn(HEX, 24) + "-" + drawn(HEX, 146)),
    ("linear-key", "lin_api_" + drawn(MIXED, 40)),
    ("notion-token", "ntn_" + drawn(MIXED, 46)),
    ("notion-token", "secret_" + drawn(MIXED, 43)),
    ("airtable-token", "pat" + drawn(MIXED, 14) + "." + drawn(HEX, 64)),
    ("asana-token", "1/" + drawn(DIGITS, 16) + ":" + drawn(HEX, 32)),
    ("atlassian-token", "ATATT3" + drawn(WIDE, 180)),
    ("hubspot-token", "pat-na1-" + uuid()),
    ("contentful-token", "CFPAT-" + drawn(WIDE, 43)),
    ("shopify-token", "shpat_" + drawn(HEX, 32)),
    ("square-token", "sq0atp-" + drawn(WIDE, 22)),
    ("paypal-token", "access_token$production$" + lowered(16) + "$" + drawn(HEX, 32)),
    ("plaid-token", "access-production-" + uuid()),
    ("razorpay-key", "rzp_live_" + drawn(MIXED, 14)),
    ("easypost-key", "EZAK" + drawn(MIXED, 54)),
    ("shippo-token", "shippo_live_" + drawn(HEX, 40)),
    ("amazon-mws-token", "amzn.mws." + uuid()),
    ("databricks-token", "dapi" + drawn(HEX, 32)),
    ("doppler-token", "dp.pt." + drawn(MIXED, 43)),
    ("vault-token", "hvs." + drawn(WIDE, 90)),
    ("terraform-token", drawn(MIXED, 14) + ".atlasv1." + drawn(WIDE, 67)),
    ("pulumi-token", "pul-" + drawn(HEX, 40)),
    ("grafana-token", "glsa_" + drawn(MIXED, 32) + "_" + drawn(HEX, 8)),
    ("grafana-token", "glc_" + drawn(MIXED, 80)),
    ("newrelic-key", "NRAK-" + drawn(CAPITALS, 27)),
    ("dynatrace-token", "dt0c01." + drawn(CAPITALS, 24) + "." + drawn(CAPITALS, 64)),
    ("sentry-token", "sntrys_" + drawn(BASE64, 120)),
    ("sonar-token", "sqp_" + drawn(HEX, 40)),
    ("sourcegraph-token", "sgp_" + drawn(HEX, 40)),
    ("buildkite-token", "bkua_" + drawn(HEX, 40)),
    ("circleci-token", "CCIPAT_" + drawn(MIXED, 22) + "_" + drawn(HEX, 40)),
    ("postman-key", "PMAK-" + drawn(HEX, 24) + "-" + drawn(HEX, 34)),
    ("figma-token", "figd_" + drawn(WIDE, 40)),
    ("mapbox-token", "sk.eyJ" + drawn(MIXED, 80) + "." + drawn(WIDE, 22)),
    ("supabase-key", "sbp_" + drawn(HEX, 40)),
    ("supabase-key", "sb_secret_" + drawn(WIDE, 31)),
    ("planetscale-token", "pscale_tkn_" + drawn(WIDE, 43)),
    ("prefect-key", "pnu_" + drawn(MIXED, 36)),
    ("readme-key", "rdme_" + lowered(70)),
    ("tailscale-key", "tskey-auth-" + drawn(MIXED, 17) + "-" + drawn(MIXED, 32)),
    ("openshift-token", "sha256~" + drawn(WIDE, 43)),
    ("1password-token", "ops_eyJ" + drawn(MIXED, 300)),
    ("age-key", "AGE-SECRET-KEY-1" + drawn(CAPITALS, 58)),
    ("wallet-key", "xprv9" + drawn(BASE58, 106)),
    ("wallet-key", "nsec1" + lowered(58)),
    ("jwt", "eyJ" + drawn(MIXED, 33) + ".eyJ" + drawn(MIXED, 80) + "." + drawn(WIDE, 43)),
    ("private-key", armoured("RSA PRIVATE KEY", 25)),
    ("private-key", armoured("PRIVATE KEY", 2)),
    ("private-key", armoured("EC PRIVATE KEY", 3)),
    ("private-key", armoured("OPENSSH PRIVATE KEY", 5)),
    ("private-key", armoured("ENCRYPTED PRIVATE KEY")),
    ("private-key", armoured("PGP PRIVATE KEY BLOCK", 30)),
    ("private-key", "Private-Lines: 1\n" + drawn(BASE64, 64) + "\nPrivate-MAC: " + drawn(HEX, 64)),
    ("card", card("4", 16)),
    ("card", card("52", 16)),
    ("card", card("2345", 16)),
    ("card", card("37", 15)),
    ("card", card("6011", 16)),
    ("card", card("36", 14)),
    ("card", re.sub(r"(\d{4})(?=\d)", r"\1 ", card("4", 16))),
    ("card", re.sub(r"(\d{4})(?=\d)", r"\1-", card("55", 16))),
    ("iban", iban("DE", drawn(DIGITS, 18))),
    ("iban", iban("ES", drawn(DIGITS, 20))),
    ("iban", re.sub("(.{4})(?=.)", r"\1 ", iban("GB", "NWBK" + drawn(DIGITS, 14)))),
    ("ssn", "-".join(("1" + drawn(DIGITS, 2), "2" + "3", "4" + drawn(DIGITS, 3)))),
]
PLACES: dict[str, Callable[[str], str]] = {
    "prose": lambda secret: f"Don't lose it: {secret}, it is the only one. Is that clear?",
    "spanish": lambda secret: f"¿Me guardas esto? Es {secret}. ¡Gracias, señor!",
    "code": lambda secret: f"client = Client('{secret}', retries=3)  # live",
    "json": lambda secret: json.dumps({"user": "ana", "note": f"it is\n{secret}", "n": 3}),
    "markdown": lambda secret: f"- first\n- use `{secret}` **today**\n",
    "end of a line": lambda secret: f"as promised:\n{secret}\nbye",
    "among other scripts": lambda secret: f"🔑«{secret}»で、はい",
    "alone": lambda secret: secret,
}

WORD = "hunter" + "2"
SENTENCE = "Correct" + "Horse9!"
KEYS = drawn(MIXED, 40)
HEXES = drawn(HEX, 32)
PIN = "48" + "21"
OTP = "482" + "193"
SEED = "canyon lizard maple velvet orbit puzzle hammer cactus ribbon tunnel walnut zebra"
# Where the secret goes, the secret, its kind.
NAMED = [
    ("my password is {}", WORD, "password"),
    ("My password is {}.", "swordfish", "password"),
    ("the wifi password: {}", WORD, "password"),
    ("wifi password is {} and the lamp is on the left", SENTENCE, "password"),
    ("Password for ana@example.com: {}", WORD, "password"),
    ("the password for my netflix account is {}, enjoy", WORD, "password"),
    ("I changed my password to {}.", SENTENCE, "password"),
    ("Password: {}", "swordfish", "password"),
    ("**Password:** {}", WORD, "password"),
    ("Password: `{}`", "swordfish", "password"),
    ('the passphrase is "{}"', WORD, "password"),
    ("{} is my password", WORD, "password"),
    ("la contraseña del wifi es {}", "perro" + "77", "password"),
    ("Contraseña: {}", "perro" + "77", "password"),
    ("mi contraseña es «{}», no la pierdas", "perro" + "77", "password"),
    ("la clave del portal es {}", "78" + "54", "password"),
    ("clave={}", "perro" + "77", "password"),
    ("la clave de acceso es {}", "perro" + "77", "password"),
    ("MYSQL_PASS={}", "swordfish", "password"),
    ("password = '{}'", "summer.time" + "99", "password"),
    ("password={}", "swordfish", "password"),
    ("DB_PASSWORD={}\nDB_USER=ana", "swordfish", "password"),
    ("export PGPASSWORD='{}'", SENTENCE, "password"),
    ('{{"user": "ana", "password": "{}"}}', "swordfish", "password"),
    ('"{{\\"password\\": \\"{}\\"}}"', WORD, "password"),
    ("{{'pwd': '{}'}}", SENTENCE, "password"),
    ("password: {}\nuser: ana", SENTENCE, "password"),
    ("<password>{}</password>", "swordfish", "password"),
    ('<add key="password" value="{}"/>', WORD, "password"),
    ("mysql --user=ana --password {} shop", "swordfish", "password"),
    ("| password | {} |", WORD, "password"),
    ("login(user='ana', password='{}')", "correct horse", "password"),
    ('passphrase = "{}"', "four plain words here", "password"),
    ("https://example.com/login?user=ana&password={}&next=home", WORD, "password"),
    ("https://ana:{}@example.com/repo.git", WORD, "password"),
    ("curl -u ana:{} https://example.com", WORD, "password"),
    ("postgres://app:{}@db.example.com:5432/shop", WORD, "connection-string"),
    ("postgresql+psycopg://app:{}@db/shop", "swordfish", "connection-string"),
    ("mysql://root:{}@localhost/shop", SENTENCE, "connection-string"),
    ("mongodb+srv://app:{}@cluster0.example.net/?retryWrites=true", WORD, "connection-string"),
    ("redis://:{}@cache:6379/0", WORD, "connection-string"),
    ("amqp://guest:{}@mq:5672", "swordfish", "connection-string"),
    ("jdbc:postgresql://db/shop?user=app&password={}", WORD, "password"),
    ("Server=db;User Id=sa;Password={};Database=shop", SENTENCE, "password"),
    (
        "DefaultEndpointsProtocol=https;AccountName=shop;AccountKey={};EndpointSuffix=core",
        drawn(BASE64, 86) + "==",
        "azure-key",
    ),
    ("https://shop.blob.core.windows.net/a?sv=2022&sig={}", drawn(MIXED, 43) + "%3D", "signature"),
    ("aws_secret_access_key = {}", drawn(BASE64, 40), "aws-secret-key"),
    ("AWS_SECRET_ACCESS_KEY={}", drawn(BASE64, 40), "aws-secret-key"),
    ("the secret access key is {}", drawn(MIXED, 40), "aws-secret-key"),
    ("COHERE_API_KEY={}", KEYS, "api-key"),
    ("my cohere api key is {}, use it", KEYS, "api-key"),
    ("X-Api-Key: {}", HEXES, "api-key"),
    ("const stripeApiKey = '{}';", KEYS, "api-key"),
    ("fastly key: {}", KEYS, "api-key"),
    ("la clave de api es {}", KEYS, "api-key"),
    ("cloudflare api token: {}", KEYS, "token"),
    ("https://example.com/?access_token={}", HEXES, "token"),
    ("el token de acceso es {}", KEYS, "token"),
    ("token={}", HEXES, "token"),
    ("Cookie: sessionid={}; theme=dark", HEXES, "token"),
    ("client_secret: {}", KEYS, "secret"),
    ('{{"secret": "{}"}}', KEYS, "secret"),
    ("Authorization: Basic {}", drawn(MIXED, 18) + "==", "basic-auth"),
    ("Authorization: Bearer {}", KEYS, "bearer-token"),
    ("-H 'authorization: bearer {}' -X POST", KEYS, "bearer-token"),
    ("wallet private key: {}", "0x" + drawn(HEX, 64), "private-key"),
    ("la clave privada es {}", drawn(HEX, 64), "private-key"),
    ("mi pin es {}", PIN, "pin"),
    ("the PIN for my card is {}!", PIN, "pin"),
    ("PIN: {}", PIN, "pin"),
    ("visa ending soon, cvv {}", PIN[:3], "cvv"),
    ("my ssn is {}", "1" + drawn(DIGITS, 8), "ssn"),
    ("your verification code is {}", OTP, "access-code"),
    ("{} is your Acme verification code", OTP, "access-code"),
    ("tu código es {}", OTP, "access-code"),
    ("código de verificación: {}", OTP, "access-code"),
    ("the door code is {}, ring twice", PIN, "access-code"),
    ("2FA code: {}", OTP, "access-code"),
    ("my seed phrase is {}", SEED, "seed-phrase"),
    ('{{"mnemonic": "{}"}}', SEED, "seed-phrase"),
    ("frase semilla: {}", SEED, "seed-phrase"),
    ("password:\n\n{}", WORD, "password"),
    ("wifi password\n{}\nsee you", WORD, "password"),
    ("### Password\n\n`{}`", WORD, "password"),
    ("password for the router\n{}", WORD, "password"),
    ("api key\n{}", KEYS, "api-key"),
    ("la contraseña sigue siendo {}", "perro" + "77", "password"),
    ("the password will be {} from May on", SENTENCE, "password"),
    ("password: str = '{}'", "swordfish", "password"),
    ("password: str | None = {}", WORD, "password"),
    ('const password: string = "{}";', "swordfish", "password"),
    ('"password": {{"value": "{}"}}', "swordfish", "password"),
    ('{{"password": {{\n    "value": "{}"\n}}}}', "swordfish", "password"),
    ('user.setPassword("{}")', "swordfish", "password"),
    ("client.set_api_key('{}')", KEYS, "api-key"),
    ("mysql -p{}", WORD, "password"),
    ("mysqldump -h db.example.com -P3306 -u ana -p{} shop", WORD, "password"),
    ("sshpass -p {} ssh db", WORD, "password"),
    ("recovery codes:\n{}", "a1b2c-d3e4f\n9z8y7-x6w5v\n12345-67890", "recovery-code"),
]

HARMLESS = [
    "I forgot my password again",
    "You can do a password reset from the login page.",
    "My password is wrong.",
    "my password is too short, it says",
    "Password: required",
    "the password is not working and I don't know why",
    "Use a password manager, 1Password for example",
    "the secret is out!",
    "The secret ingredient: love",
    "Secret Santa is on 12/20",
    "the key is under the mat",
    "Key: practice every day",
    "The key to success is consistency.",
    "keys: wallet, phone, umbrella",
    "la clave es la paciencia",
    "la clave del éxito es trabajar mucho",
    "olvidé mi contraseña otra vez",
    "¿Cuál es la contraseña del wifi?",
    "cambia la contraseña cuando puedas",
    "mi contraseña es muy débil",
    "What is the wifi password?",
    "the code is on GitHub",
    "our code is tested and our zip code is 94107",
    "Error code: 500, status code 404",
    "código postal 28013, Madrid",
    "I pinned 3 posts and bought a pin in 2019",
    "the boarding pass is in your email",
    "a pin in July 2019 and a pin from the 1996 games",
    "Day pass: $45.00, season pass: 120 euros",
    "Route66 is the code name, iPhone15 is my pin-up",
    "We climbed the pass: 2,465 m in 4 hours",
    "token limit: 128000 tokens, about 96,000 words",
    "max_tokens=4096, temperature=0.7",
    "The token of appreciation was a mug",
    "password = os.environ['DB_PASSWORD']",
    "password: str",
    "def login(user: str, password: str) -> None: ...",
    "password=password, token=token",
    'def login(user, password):\n    """Authorisation"""',
    "secret = base64.b64decode(text[6:])",
    "password=${DB_PASSWORD}",
    "password = get_password(user)",
    "api_key = settings.api_key",
    "API_KEY=your-api-key-here",
    "password: <your password>",
    "password=********",
    "postgres://user:${PGPASSWORD}@localhost/db",
    "https://example.com:8080/users/ana@example.com",
    "mail me at ana@example.com, or see https://example.com/a?b=c",
    "Call me: +34 612 345 678 or (415) 555-0134",
    "order 1234567890123456 shipped, tracking 1Z999AA10123456784",
    "4 111 people, 1111 votes, 2024-05-17 10:30:00",
    "commit 3f2a9c1e8b7d6f5a4c3b2a1908f7e6d5c4b3a291 fixes it",
    "id 550e8400-e29b-41d4-a716-446655440000",
    "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIJ ana@laptop",
    "public key: 04a1b2c3d4e5f60718293a4b5c6d7e8f",
    "s3 key: photos/2023/07/IMG_20230714_101530.jpg",
    "the seed phrase is something you should never type into a website that somebody has sent you by mail",
    "backup codes are printed on the back",
    "A private key starts with -----BEGIN PRIVATE KEY----- and that is all I know",
    "task-list, risk-free, disk-usage-monitoring-service-for-everyone",
    "basic understanding of bearer bonds",
    "Authorization: pending approval from the office",
    "the responsibilities of internationalization-committee-members-everywhere",
    "I forgot my password\nSo I went home",
    "She told me the secret of a good password\nroom42b",
    "Password:\n\nThanks!",
    "def login(user: str, password: str = None) -> None: ...",
    "password: Optional[str] = Field(default=None)",
    '"password": {"hint": "my dog"}',
    'get_password("ana"), reset_password("ana@example.com")',
    "mysql -h db -P3306 -u ana -p shop",
    "mysql -p$PASS -u ana; psql -p5432",
    "bot tokens start with xoxb-\nauthentication needs them",
    "IBAN DE00 1234 5678 9012 3456 78 is a wrong one",
    "[secret: aws-key] was cut out",
    'my password is [secret: password] and {"token": "[secret: token]"}',
    "¡Qué calor! 😅 Mañana vamos a la playa con los niños…",
]


@pytest.mark.parametrize("place", PLACES.values(), ids=PLACES)
@pytest.mark.parametrize(("kind", "secret"), FORMATS, ids=[f"{kind}-{at}" for at, (kind, _) in enumerate(FORMATS)])
def test_a_secret_that_shows_by_itself_is_cut_out_wherever_it_stands(
    kind: str, secret: str, place: Callable[[str], str]
) -> None:
    """A11: in prose, code and JSON; its kind stays, and nothing else changes."""
    assert cut_secrets(place(secret)) == Cut(place(f"[secret: {kind}]"), (kind,))


def test_there_are_enough_formats() -> None:
    assert len(FORMATS) + len(NAMED) >= 180
    assert len({kind for kind, _ in FORMATS} | {kind for _, _, kind in NAMED}) >= 80


@pytest.mark.parametrize(("sentence", "secret", "kind"), NAMED, ids=[sentence for sentence, _, _ in NAMED])
@pytest.mark.parametrize("around", ["{}", "So: {}", "(first)\n{}\nsecond", "año 🎉 {}"])
def test_a_secret_is_known_by_the_words_before_it(sentence: str, secret: str, kind: str, around: str) -> None:
    text = around.replace("{}", sentence)
    assert cut_secrets(text.format(secret)) == Cut(text.format(f"[secret: {kind}]"), (kind,))


@pytest.mark.parametrize("text", HARMLESS)
def test_what_only_speaks_of_secrets_stays_the_same_text(text: str) -> None:
    assert cut_secrets(text).text is text
    assert cut_secrets(text).found == ()


@pytest.mark.parametrize("unseen", ["\u200b", "\u200d", "\ufeff", "\u00ad", "\ufe0f", "\u2060"])
def test_unseen_characters_hide_nothing(unseen: str) -> None:
    token = "ghp_" + drawn(MIXED, 36)
    split = unseen.join((token[:3], token[3:20], token[20:]))
    assert cut_secrets(f"é{unseen}: {split}{unseen} ok") == Cut(
        f"é{unseen}: [secret: github-token]{unseen} ok", ("github-token",)
    )
    assert cut_secrets(f"my pass{unseen}word is {WORD}").text == f"my pass{unseen}word is [secret: password]"


def test_wide_letters_and_loose_accents_hide_nothing() -> None:
    token = "AKIA" + drawn(CAPITALS, 16)
    wide = "".join(chr(ord(sign) + 0xFEE0) for sign in token)
    assert cut_secrets(f"toma {wide} ya").text == "toma [secret: aws-key] ya"
    assert cut_secrets(f"contrasen\u0303a: {WORD}").text == "contrasen\u0303a: [secret: password]"


def test_a_secret_written_in_two_pieces_is_one() -> None:
    token = "ghp_" + drawn(MIXED, 36)
    assert cut_secrets(f'key("{token[:12]}" + "{token[12:]}")').text == 'key("[secret: github-token]")'
    key = "AKIA" + drawn(CAPITALS, 16)
    assert cut_secrets(f'"{key[:8]}" + "{key[8:]}"').text == '"[secret: aws-key]"'
    assert cut_secrets(f"x = '{token[:30]}'\n    '{token[30:]}'").text == "x = '[secret: github-token]'"


@pytest.mark.parametrize("line_break", ["\n", "\r\n", "\n    ", "\\\n"])
def test_a_token_broken_by_the_end_of_a_line_is_one(line_break: str) -> None:
    for kind, token in (
        ("github-token", "ghp_" + drawn(MIXED, 36)),
        ("aws-key", "AKIA" + drawn(CAPITALS, 16)),
        ("openai-key", "sk-proj-" + drawn(WIDE, 60) + "aB3aB3aB3aB3aB3aB3"),
    ):
        for at in (8, 12, len(token) - 12):
            broken = token[:at] + line_break + token[at:]
            assert cut_secrets(f"here it is\n{broken}\nbye").text == f"here it is\n[secret: {kind}]\nbye"


def test_what_stands_on_the_line_behind_a_token_stays() -> None:
    token = "ghp_" + drawn(MIXED, 36)
    for line in ("Room12 is ours", "3f2a9c1e8b7d6f5a4c3b", "2026-05-01T10:30:00Z", "userName1x: ana", "Thanks!"):
        assert cut_secrets(f"{token}\n{line}").text == f"[secret: github-token]\n{line}"


def test_kinds_come_in_the_order_of_the_text() -> None:
    token, key = "ghp_" + drawn(MIXED, 36), "AKIA" + drawn(CAPITALS, 16)
    cut = cut_secrets(f"pin {PIN}; {token}; password={WORD}; {key}")
    assert cut == Cut(
        "pin [secret: pin]; [secret: github-token]; password=[secret: password]; [secret: aws-key]",
        ("pin", "github-token", "password", "aws-key"),
    )


def test_a_key_that_was_cut_off_goes_as_far_as_it_goes() -> None:
    half = armoured("RSA PRIVATE KEY").partition("\n-----END")[0]
    assert cut_secrets(f"{half}\n\nSorry, the rest is lost.").text == "[secret: private-key]\n\nSorry, the rest is lost."
    long = drawn(MIXED, 5_000)
    assert cut_secrets(f"password={long} ok").text == "password=[secret: password] ok"


def test_a_service_account_keeps_all_but_its_key() -> None:
    account = {"type": "service_account", "private_key": armoured("PRIVATE KEY", 20) + "\n", "client_email": "a@example.com"}
    cut = cut_secrets(json.dumps(account, indent=2))
    assert json.loads(cut.text)["client_email"] == "a@example.com"
    assert cut.found == ("private-key",)
    assert "-----" not in cut.text


PIECES = st.sampled_from(
    [secret for _, secret in FORMATS[::7]]
    + [sentence.format(secret) for sentence, secret, _ in NAMED]
    + [sentence.partition("{")[0] for sentence, _, _ in NAMED]
    + ["[secret: password]", "[secret: ", "]", "-----BEGIN PRIVATE KEY-----", "-----END PRIVATE KEY-----", "://", "@", "\uffff"]
    + [
        *" \n\t\"'`\\=:;,.&|<>()[]{}*_-+/%$#!?aA0é漢🎉\u200b\u0301",
        "is",
        " es ",
        WORD,
        PIN,
        "eyJ",
        "ghp_",
        "\\n",
        "%3D",
        '" + "',
        "ghp_" + KEYS[:18],
        KEYS[18:],
        'setPassword("',
        "password: str = ",
        "password\n",
        "mysql -p",
        "\r\n",
    ]
)
SOUPS = st.lists(PIECES | st.text(max_size=5), max_size=12).map("".join)


@settings(max_examples=400, deadline=None)
@given(SOUPS)
@example("")
@example("password=[secret: password]")
def test_cutting_twice_is_cutting_once_and_changes_nothing_else(text: str) -> None:
    cut = cut_secrets(text)
    again = cut_secrets(cut.text)
    assert again.text is cut.text
    assert again.found == ()
    assert (cut.text is text) == (not cut.found)
    kept = re.split(r"\[secret: [a-z0-9-]+\]", cut.text)
    assert text.startswith(kept[0])
    assert text.endswith(kept[-1])
    at = 0
    for part in kept:
        at = text.index(part, at) + len(part)


HOSTILE = {
    "prefixes": "ghp_" * 50_000,
    "dashed prefixes": "eyJaaaaaaaaaa-" * 15_000,
    "half tokens": "eyJaaaaaaaa.eyJ." * 12_000,
    "frames": "-----BEGIN PRIVATE KEY-----" * 7_500,
    "names": "password=" * 20_000,
    "quoted names": 'pwd="' * 40_000,
    "names with a place": "password for a " * 13_000,
    "schemes": "://a:" * 40_000,
    "seeds": "seed phrase: canyon lizard " * 7_500,
    "digits": "4" * 200_000,
    "groups": "4111 " * 40_000,
    "accounts": "gb29 " * 40_000,
    "placeholders": "[secret: " * 22_000,
    "unseen": "a\u200b" * 100_000,
    "halves": "a'+'" * 50_000,
    "codes": "recovery codes: ab12-" * 9_500,
    "labels": "password\n" * 20_000,
    "backslashes": "password=" + "aB3x" * 40 + "\\" * 100_000,
    "broken lines": "ghp_aB3x\n" * 20_000,
    "options": "mysql -u " * 20_000,
    "typed names": "token: any | none = " * 10_000,
}


@pytest.mark.parametrize("value", [None, 5, b"the pin is 1234"])
def test_what_is_no_text_is_refused_with_what_to_give_instead(value: object) -> None:
    with pytest.raises(BadInput, match=rf"takes a str, not {type(value).__name__}; of other values give str\(value\)"):
        cut_secrets(value)  # type: ignore[arg-type]


@pytest.mark.stress
@pytest.mark.parametrize("text", HOSTILE.values(), ids=HOSTILE)
def test_long_hostile_texts_are_read_to_the_end(text: str) -> None:
    """Any pattern that goes back over what it read would not come back from these."""
    token = "ghp_" + drawn(MIXED, 36)
    assert cut_secrets(f"{text} {token}").text.endswith(" [secret: github-token]")
