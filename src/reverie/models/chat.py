"""Language models behind a server: OpenAI, Anthropic, and whatever speaks OpenAI's protocol (Ollama, vLLM, llama.cpp).

`pydantic-ai` knows how each wants to be asked for JSON. What leaves this machine is the question and the key: headers that the
makers' libraries add (about this machine, or out of the environment) are taken off, no redirect is followed, nothing is
traced. Each question opens its own connection, inside its own event loop: a model may then be shared by threads, used after a
fork and from within a running loop, and leaves nothing open; a handshake is little beside the second that an answer takes.
"""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine
from concurrent.futures import ThreadPoolExecutor
from functools import cache
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any, NamedTuple

from reverie.errors import BadInput, ModelError
from reverie.models.base import Answer, Asked
from reverie.models.server import address, checked_key, one_line

if TYPE_CHECKING:
    from ssl import SSLContext

    import httpx2
    from pydantic_ai.messages import ModelResponse
    from pydantic_ai.models import Model as Asker

_NEEDED = ("pydantic_ai", "openai", "anthropic")
# Headers without which a request is not understood; the key is added to them.
_SENT = {
    "host",
    "accept",
    "accept-encoding",
    "connection",
    "content-type",
    "content-length",
    "anthropic-version",
    "anthropic-beta",
}


class Maker(NamedTuple):
    """Who makes models: called so, at this place if no other is set, with a key of this setting."""

    called: str
    place: str
    key_setting: str
    wants_key: bool


MAKERS = {
    "openai": Maker("OpenAI", "api.openai.com", "OPENAI_API_KEY", True),
    "anthropic": Maker("Anthropic", "api.anthropic.com", "ANTHROPIC_API_KEY", True),
    "ollama": Maker("Ollama", "localhost:11434", "REVERIE_OLLAMA_KEY", False),
}


class Chat:
    """Asks `model` of one of the makers at `url`; its name holds the place unless it is the maker's own."""

    def __init__(self, maker: str, model: str, url: str, key: str | None = None) -> None:
        if any(find_spec(package) is None for package in _NEEDED):
            raise BadInput(f"model {maker}:{model} needs packages that are not installed: pip install reverie[llm]")
        self._maker, self._model, self._by = maker, model, MAKERS[maker]
        base, place = address(url)
        self._url = base.removesuffix("/v1") if maker == "anthropic" else base  # its library adds it
        is_own = place == self._by.place
        self._key = checked_key(key, self._by.key_setting, self._by.called if is_own and self._by.wants_key else None)
        self.name = f"{maker}:{model}" if is_own else f"{maker}:{model}@{place}"

    def __repr__(self) -> str:
        return f"Chat({self.name!r})"

    def ask(self, asked: Asked) -> Answer:
        """Return the answer of one request, without trying again."""
        from pydantic_ai.exceptions import AgentRunError, UserError

        try:
            said = _run(self._request(asked))
        except (AgentRunError, UserError) as exc:
            raise self._failure(exc, asked.timeout_s) from None  # theirs may repeat the key, or what was asked
        except Exception as exc:  # the makers' libraries stumble in many ways over an answer that is no such thing
            raise ModelError(
                f"{self.name} gave no answer that makes sense ({type(exc).__name__}); is {self._url} right?"
            ) from None
        return Answer(said.text or "", said.usage.input_tokens, said.usage.output_tokens)

    async def _request(self, asked: Asked) -> ModelResponse:
        import httpx2
        from pydantic_ai.direct import model_request
        from pydantic_ai.messages import ModelRequest, UserPromptPart
        from pydantic_ai.models import ModelRequestParameters
        from pydantic_ai.output import OutputObjectDefinition

        hooks = {"request": [self._strip]}
        async with httpx2.AsyncClient(timeout=asked.timeout_s, event_hooks=hooks, verify=_certificates()) as http:
            model = self._asker(http)
            wanted = ModelRequestParameters()
            if asked.schema is not None:
                # A model that cannot be held to a schema is shown it instead.
                is_held = model.profile.get("supports_json_schema_output", False)
                form = OutputObjectDefinition(dict(asked.schema), name=asked.purpose, strict=True)
                wanted = ModelRequestParameters(output_mode="native" if is_held else "prompted", output_object=form)
            return await model_request(
                model,
                [ModelRequest(parts=[UserPromptPart(asked.text)], instructions=asked.system)],
                model_settings={"max_tokens": asked.max_tokens, "request_timeout": asked.timeout_s},
                model_request_parameters=wanted,
                instrument=False,
            )

    def _asker(self, http: httpx2.AsyncClient) -> Asker:
        key = self._key or "none"  # their libraries want one; it is taken off again
        if self._maker == "anthropic":
            from anthropic import AsyncAnthropic
            from pydantic_ai.models.anthropic import AnthropicModel
            from pydantic_ai.providers.anthropic import AnthropicProvider

            asks = AsyncAnthropic(api_key=key, base_url=self._url, http_client=http, max_retries=0, open_telemetry=False)
            return AnthropicModel(self._model, provider=AnthropicProvider(anthropic_client=asks))
        from openai import AsyncOpenAI
        from pydantic_ai.models.openai import OpenAIChatModel
        from pydantic_ai.profiles.openai import OpenAIModelProfile
        from pydantic_ai.providers.ollama import OllamaProvider
        from pydantic_ai.providers.openai import OpenAIProvider

        client = AsyncOpenAI(api_key=key, base_url=self._url, http_client=http, max_retries=0)
        if self._maker == "openai":
            return OpenAIChatModel(self._model, provider=OpenAIProvider(openai_client=client))
        says_max_tokens = OpenAIModelProfile(openai_chat_supports_max_completion_tokens=False)  # the older word, known to all
        return OpenAIChatModel(self._model, provider=OllamaProvider(openai_client=client), profile=says_max_tokens)

    async def _strip(self, request: httpx2.Request) -> None:
        for name in set(request.headers) - _SENT:
            del request.headers[name]
        request.headers["User-Agent"] = "reverie"
        if self._key and self._maker == "anthropic":
            request.headers["X-Api-Key"] = self._key
        elif self._key:
            request.headers["Authorization"] = f"Bearer {self._key}"

    def _failure(self, exc: Exception, timeout_s: float) -> ModelError:
        """Return what went wrong, in our words."""
        from pydantic_ai import exceptions as theirs

        said = one_line(str(getattr(exc, "body", None) or exc), self._key)
        match exc:
            case theirs.ModelRequestTimeout() | theirs.ModelTimeoutError():
                return ModelError(f"{self.name} did not answer within {timeout_s:g} s; is it busy?", may_pass=True)
            case theirs.ModelConnectionError():
                return ModelError(f"{self._url} cannot be reached ({said}); is the server running?", may_pass=True)
            case theirs.ModelHTTPError(status_code=401 | 403 as status):
                what = "refused the key; check" if self._key else "wants a key and none is set; set"
                return ModelError(f"{self._url} {what} {self._by.key_setting} ({status}: {said})", is_set_wrong=True)
            case theirs.ModelHTTPError(status_code=404):
                wrong = f"{self._url} knows no model {self._model!r}; check its name and the url (404: {said})"
                return ModelError(wrong, is_set_wrong=True)
            case theirs.ModelHTTPError(status_code=402) | theirs.ModelQuotaExceededError():
                return ModelError(f"{self._url} wants to be paid first; see to your account there ({said})", is_set_wrong=True)
            case theirs.ModelHTTPError(status_code=status):
                passes = status == 429 or status >= 500
                wait = f", asking to wait {exc.retry_after:.0f} s" if exc.retry_after else ""
                return ModelError(f"{self._url} answered {status}{wait}: {said}", may_pass=passes, wait_s=exc.retry_after)
            case _:
                return ModelError(f"{self.name} gave no answer: {said}")


@cache
def _certificates() -> SSLContext:
    """Return what servers are known by; reading it takes longer than all else that is done here for a question."""
    import httpx2

    return httpx2.create_ssl_context()


def _run(request: Coroutine[Any, Any, ModelResponse]) -> ModelResponse:
    """Return what comes of a request, also where an event loop is running already."""
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return asyncio.run(request)
    with ThreadPoolExecutor(1) as thread:
        return thread.submit(asyncio.run, request).result()
