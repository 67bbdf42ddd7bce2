"""Only checked by mypy: the types of results. `type: ignore` marks what the types refuse."""

import anthropic
import openai
from pegboard import AsyncPegboard, CallResult, Pegboard, PegboardError, ToolUseResult


def use(pegboard: Pegboard) -> list[str]:
    client = anthropic.Anthropic()
    client.messages.create(
        model="m", max_tokens=1, messages=[{"role": "user", "content": "x"}], tools=pegboard.definitions("anthropic")
    )
    openai.OpenAI().responses.create(model="m", input="x", tools=pegboard.definitions("openai"))
    result: CallResult = pegboard.call("a__b", {"c": 1}, timeout=1.0)
    model: ToolUseResult = pegboard.run_tool_use("gemini", "search_tools", "{}")
    names = [hit["tool"]["name"] for hit in pegboard.search("x", limit=1)]
    parts = [part["text"] if part["type"] == "text" else part["mimeType"] for part in model.content]
    code: str | None = result.code
    signature: str = pegboard.describe("a__b")["signature"]
    try:
        pegboard.close()
    except PegboardError as error:
        names.append(error.code + error.remedy)
    pegboard.definitions("acme")  # type: ignore[arg-type]
    pegboard.definitions("gemini", loading="some")  # type: ignore[arg-type]
    pegboard.call("a__b", [1])  # type: ignore[arg-type]
    return [*names, *parts, code or "", signature]


async def use_async(pegboard: AsyncPegboard) -> str:
    run = await pegboard.run_tools(anthropic.AsyncAnthropic(), model="m", max_tokens=1, messages=[])
    for call in run.calls:
        print(call.result.text)
    return run.text
