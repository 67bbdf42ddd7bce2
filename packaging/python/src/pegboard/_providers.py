"""The conversations of the official Anthropic and OpenAI SDKs. Only attributes of their objects are used."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ._errors import PegboardError
from ._results import Content, ToolUseResult
from ._run import Conversation, Pending


def provider_of(client: Any, request: Mapping[str, Any]) -> type[Conversation]:
    """The API for an SDK's client and a request."""
    if hasattr(client, "chat") and hasattr(client, "responses"):
        return Responses if "input" in request else ChatCompletions
    if hasattr(client, "chat"):
        return ChatCompletions
    if hasattr(client, "messages"):
        return Messages
    message = f"`{type(client).__name__}` is not a client of the Anthropic or OpenAI SDK"
    raise PegboardError("REQUEST_INVALID", message, "For other SDKs use `definitions` and `run_tool_use`.")


class Messages(Conversation):
    """Anthropic Messages."""

    provider = "anthropic"

    def create(self, client: Any) -> Any:
        return client.messages.create

    def text(self, response: Any) -> str:
        return "".join(block.text for block in response.content if block.type == "text")

    def stop(self, response: Any) -> str:
        return str(response.stop_reason)

    def calls(self, response: Any) -> list[Pending]:
        blocks = [block for block in response.content if block.type == "tool_use"]
        return [Pending(block.id, block.name, block.input) for block in blocks]

    def is_cut_off(self, response: Any) -> bool:
        return response.stop_reason not in ("tool_use", "end_turn", "stop_sequence")

    def continues(self, response: Any) -> bool:
        return bool(response.stop_reason == "pause_turn")

    def add_response(self, response: Any) -> None:
        # The service refuses empty messages.
        if response.content:
            self.messages.append({"role": "assistant", "content": response.content})

    def add_results(self, calls: list[Pending], results: list[ToolUseResult]) -> None:
        blocks = [
            {
                "type": "tool_result",
                "tool_use_id": call.id,
                "content": [_block(part) for part in result.content],
                "is_error": result.is_error,
            }
            for call, result in zip(calls, results)
        ]
        self.messages.append({"role": "user", "content": blocks})


def _block(part: Content) -> dict[str, Any]:
    if part["type"] == "image":
        source = {"type": "base64", "media_type": part["mimeType"], "data": part["data"]}
        return {"type": "image", "source": source}
    return {"type": "text", "text": part["text"] or "(no content)"}


class ChatCompletions(Conversation):
    """OpenAI Chat Completions, and compatible servers."""

    provider = "openai-chat"

    def create(self, client: Any) -> Any:
        return client.chat.completions.create

    def text(self, response: Any) -> str:
        message = response.choices[0].message
        return str(message.content or getattr(message, "refusal", None) or "")

    def stop(self, response: Any) -> str:
        choice = response.choices[0]
        return "refusal" if getattr(choice.message, "refusal", None) else str(choice.finish_reason)

    def calls(self, response: Any) -> list[Pending]:
        calls = response.choices[0].message.tool_calls or []
        return [_chat_call(call) for call in calls]

    def is_cut_off(self, response: Any) -> bool:
        return response.choices[0].finish_reason in ("length", "content_filter")

    def add_response(self, response: Any) -> None:
        self.messages.append(response.choices[0].message)

    def add_results(self, calls: list[Pending], results: list[ToolUseResult]) -> None:
        for call, result in zip(calls, results):
            content = _text_only(result)
            self.messages.append({"role": "tool", "tool_call_id": call.id, "content": content})


def _chat_call(call: Any) -> Pending:
    function = getattr(call, "function", None)
    if function is None:
        # A custom tool of the program, whose input is a text.
        return Pending(call.id, call.custom.name, {"input": call.custom.input})
    return Pending(call.id, function.name, function.arguments)


class Responses(Conversation):
    """OpenAI Responses."""

    provider = "openai-responses"
    history = "input"

    def initial(self, earlier: Any) -> list[Any]:
        return [{"role": "user", "content": earlier}] if isinstance(earlier, str) else list(earlier)

    def create(self, client: Any) -> Any:
        return client.responses.create

    def text(self, response: Any) -> str:
        messages = [item for item in response.output if item.type == "message"]
        parts = [part for message in messages for part in message.content]
        return "".join(part.text if part.type == "output_text" else part.refusal for part in parts)

    def stop(self, response: Any) -> str:
        details = getattr(response, "incomplete_details", None)
        reason = getattr(details, "reason", None)
        parts = [part for item in response.output if item.type == "message" for part in item.content]
        if any(part.type == "refusal" for part in parts):
            return "refusal"
        return str(reason or response.status)

    def calls(self, response: Any) -> list[Pending]:
        calls = [item for item in response.output if item.type == "function_call"]
        return [Pending(item.call_id, item.name, item.arguments) for item in calls]

    def is_cut_off(self, response: Any) -> bool:
        return response.status not in ("completed", None)

    def add_response(self, response: Any) -> None:
        self.messages.extend(response.output)

    def add_results(self, calls: list[Pending], results: list[ToolUseResult]) -> None:
        for call, result in zip(calls, results):
            output = _text_only(result)
            self.messages.append({"type": "function_call_output", "call_id": call.id, "output": output})


def _text_only(result: ToolUseResult) -> str:
    """A result for APIs whose results are texts; images are named."""
    parts = [part["text"] if part["type"] == "text" else f"[image {part['mimeType']}]" for part in result.content]
    return "\n".join(parts) or "(no content)"
