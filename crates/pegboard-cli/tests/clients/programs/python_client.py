"""A client with the Python SDK that uses every feature of the gateway.

`python_client.py TASK` reads its options as one line of JSON from standard input and writes its results as one line
of JSON: an object from step to result; the result of a failed step is the error.
"""

import json
import os
import sys
import warnings
from collections.abc import Awaitable, Callable
from typing import Any

import anyio
import mcp_types as types
from mcp import Client, StdioServerParameters

# Sampling, roots and logging are deprecated in the newest revision but still supported.
warnings.simplefilter("ignore")

STEP_TIMEOUT_SECONDS = 30.0
CROWD = 10
seen: dict[str, Any] = {}


async def elicit(_context: Any, params: types.ElicitRequestParams) -> types.ElicitResult:
    seen.setdefault("asked", []).append(params.message)
    return types.ElicitResult(action="accept", content={"name": "Ada"})


async def sample(_context: Any, params: types.CreateMessageRequestParams) -> types.CreateMessageResult:
    seen.setdefault("asked", []).append(params.messages[0].content.text)
    answer = types.TextContent(type="text", text="Paris")
    return types.CreateMessageResult(role="assistant", model="test", content=answer)


async def roots(_context: Any) -> types.ListRootsResult:
    seen.setdefault("asked", []).append("roots")
    return types.ListRootsResult(roots=[types.Root(uri="file:///home/ada", name="home")])


def client(options: dict[str, Any], address: str, **more: Any) -> Client:
    target = options[address]
    if isinstance(target, str):
        server: Any = target
    else:
        server = StdioServerParameters(command=target["command"], args=target["args"], env=target["env"])
    return Client(
        server,
        mode=options["mode"],
        elicitation_callback=elicit,
        sampling_callback=sample,
        list_roots_callback=roots,
        **more,
    )


def text_of(result: types.CallToolResult) -> str:
    return "\n".join(block.text for block in result.content if block.type == "text")


async def step(name: str, run: Callable[[], Awaitable[Any]]) -> None:
    try:
        with anyio.fail_after(STEP_TIMEOUT_SECONDS):
            seen[name] = await run()
    except Exception as error:  # noqa: BLE001 - the test reports every failure
        seen[name] = {"failed": f"{type(error).__name__}: {error}"}


async def wait_for_note(file: str, what: str) -> None:
    while not os.path.exists(file) or what not in open(file, encoding="utf-8").read():
        await anyio.sleep(0.02)


async def tour(options: dict[str, Any]) -> None:
    async with client(options, "lazy") as it:
        seen["revision"] = it.protocol_version

        async def tools() -> Any:
            return [tool.name for tool in (await it.list_tools()).tools]

        async def text(tool: str, arguments: dict[str, Any]) -> str:
            return text_of(await it.call_tool(tool, arguments))

        await step("tools", tools)
        await step("search", lambda: text("search_tools", {"query": "add two whole numbers"}))
        await step("list", lambda: text("list_available_tools", {}))
        await step("describe", lambda: text("get_tool_description", {"tool_name": "legacy__steps"}))
        for server in ("modern", "legacy"):
            await calls(it, server, options["notes"])
            await questions(it, server)
        await reference_server(it)
        await offers(it)


async def reference_server(it: Client) -> None:
    """The same calls with the reference server of the MCP project."""

    async def text(tool: str, arguments: dict[str, Any]) -> str:
        return text_of(await it.call_tool(f"everything__{tool}", arguments))

    async def progress() -> Any:
        received: list[Any] = []

        async def on_progress(progress: float, total: float | None, _message: str | None) -> None:
            received.append([int(progress), int(total or 0)])

        arguments = {"duration": 1, "steps": 2}
        await it.call_tool("everything__trigger-long-running-operation", arguments, progress_callback=on_progress)
        return received[0]

    await step("everything: echo", lambda: text("echo", {"message": "hé"}))
    await step("everything: progress", progress)
    await step("everything: elicitation", lambda: text("trigger-elicitation-request", {}))
    await step("everything: sampling", lambda: text("trigger-sampling-request", {"prompt": "Where?"}))
    await step("everything: roots", lambda: text("get-roots-list", {}))
    seen.pop("asked", None)


async def calls(it: Client, server: str, notes: str) -> None:
    async def through_meta_tool() -> Any:
        options = {"tool_name": f"{server}__add", "arguments": {"a": 2, "b": 3}}
        result = await it.call_tool("call_tool", options)
        return {"text": text_of(result), "structured": result.structured_content, "is_error": result.is_error}

    async def by_name() -> Any:
        result = await it.call_tool(f"{server}__add", {"a": 20, "b": 3})
        return {"text": text_of(result), "structured": result.structured_content, "is_error": result.is_error}

    async def wrong_arguments() -> Any:
        result = await it.call_tool(f"{server}__add", {"a": "two"})
        return {"is_error": result.is_error, "reason": (result.structured_content or {}).get("reason")}

    async def unknown() -> Any:
        try:
            await it.call_tool(f"{server}__ad", {})
        except Exception as error:  # noqa: BLE001
            return getattr(error, "code", None) or getattr(error.error, "code", None)
        return "answered"

    async def progress(tool: str, arguments: dict[str, Any]) -> Any:
        received: list[Any] = []

        async def on_progress(progress: float, total: float | None, message: str | None) -> None:
            received.append([int(progress), int(total or 0), message])
            with open(file, "a", encoding="utf-8") as noted:
                noted.write(f"received {int(progress)}\n")

        file = os.path.join(notes, f"{server}-{tool}")
        options = {"tool_name": f"{server}__{tool}", "arguments": {**arguments, "notes": file}}
        result = await it.call_tool("call_tool", options, progress_callback=on_progress)
        return {"received": received, "text": text_of(result)}

    async def cancel() -> Any:
        file = os.path.join(notes, f"{server}-cancel")
        async with anyio.create_task_group() as group:
            group.start_soon(it.call_tool, f"{server}__wait", {"notes": file})
            await wait_for_note(file, "waiting")
            group.cancel_scope.cancel()
        await wait_for_note(file, "cancelled")
        return text_of(await it.call_tool(f"{server}__add", {"a": 4, "b": 4}))

    async def death() -> Any:
        result = await it.call_tool("call_tool", {"tool_name": f"{server}__die"})
        error = result.structured_content or {}
        again = await it.call_tool(f"{server}__add", {"a": 5, "b": 5})
        return {
            "is_error": result.is_error,
            "code": error.get("code"),
            "reason": error.get("reason"),
            "text": text_of(result),
            "again": text_of(again),
        }

    await step(f"{server}: call_tool", through_meta_tool)
    await step(f"{server}: by name", by_name)
    await step(f"{server}: wrong arguments", wrong_arguments)
    await step(f"{server}: unknown", unknown)
    await step(f"{server}: progress", lambda: progress("steps", {"count": 3}))
    await step(f"{server}: progress after a question", lambda: progress("interview", {}))
    seen.pop("asked", None)
    await step(f"{server}: cancel", cancel)
    await step(f"{server}: death", death)


async def questions(it: Client, server: str) -> None:
    for tool in ("greet", "think", "folders"):
        seen["asked"] = []

        async def ask(tool: str = tool) -> Any:
            by_name = text_of(await it.call_tool(f"{server}__{tool}", {}))
            wrapped = text_of(await it.call_tool("call_tool", {"tool_name": f"{server}/{tool}", "arguments": {}}))
            return {"asked": seen["asked"], "by_name": by_name, "call_tool": wrapped}

        await step(f"{server}: {tool}", ask)
    del seen["asked"]


async def offers(it: Client) -> None:
    async def prompts() -> Any:
        return sorted(prompt.name for prompt in (await it.list_prompts()).prompts)

    async def resources() -> Any:
        return sorted(str(resource.uri) for resource in (await it.list_resources()).resources)

    async def templates() -> Any:
        found = (await it.list_resource_templates()).resource_templates
        return sorted(template.uri_template for template in found)

    async def prompt(name: str) -> Any:
        return (await it.get_prompt(name, {"name": "Bo"})).messages[0].content.text

    async def read(uri: str) -> Any:
        return (await it.read_resource(uri)).contents[0].text

    await step("prompts", prompts)
    await step("resources", resources)
    await step("templates", templates)
    for server in ("modern", "legacy"):
        await step(f"{server}: prompt", lambda: prompt(f"{server}__greeting"))
        await step(f"{server}: read", lambda: read(f"pegboard://{server}/note://one"))
        await step(f"{server}: read by template", lambda: read(f"pegboard://{server}/note://numbered/7"))


async def changes(options: dict[str, Any]) -> None:
    """In a profile that lists every tool, the client is notified when a server adds a tool."""
    notified = anyio.Event()

    async def on_message(message: Any) -> None:
        if isinstance(message, types.ToolListChangedNotification):
            notified.set()

    async with client(options, "direct", message_handler=on_message) as it:
        async def names() -> list[str]:
            listed = await it.list_tools(cache_mode="refresh")
            return [tool.name for tool in listed.tools if tool.name.endswith("__grown")]

        async def grow() -> Any:
            before = await names()
            # A server notifies its subscribers, and Pegboard subscribes once the server runs.
            await it.call_tool(f"{options['server']}__add", {"a": 1, "b": 1})
            if options["mode"] == "legacy":
                await it.call_tool(f"{options['server']}__grow", {})
                await notified.wait()
            else:
                async with it.listen(tools_list_changed=True) as changed:
                    await it.call_tool(f"{options['server']}__grow", {})
                    async for _event in changed:
                        break
            return {"before": before, "after": await names()}

        await step("grow", grow)


async def restart(options: dict[str, Any]) -> None:
    """Calls before and after a restart of the gateway; prints `ready` in between."""
    async with client(options, "lazy") as it:
        async def add() -> Any:
            return text_of(await it.call_tool("modern__add", {"a": 1, "b": 1}))

        await step("before", add)
        print("ready", flush=True)
        await anyio.to_thread.run_sync(sys.stdin.readline)
        await step("after", add)


async def crowd(options: dict[str, Any]) -> None:
    """Ten clients that call the same tool of a server that does not run yet."""
    answers: list[str] = []
    arrived = 0
    all_connected = anyio.Event()

    async def one() -> None:
        nonlocal arrived
        async with client(options, "lazy") as it:
            arrived += 1
            if arrived == CROWD:
                all_connected.set()
            await all_connected.wait()
            answers.append(text_of(await it.call_tool("slow__work", {"text": "x"})))

    async def all_at_once() -> Any:
        async with anyio.create_task_group() as group:
            for _ in range(CROWD):
                group.start_soon(one)
        return answers

    await step("answers", all_at_once)


async def main() -> None:
    tasks = {"tour": tour, "changes": changes, "restart": restart, "crowd": crowd}
    options = json.loads(sys.stdin.readline())
    try:
        await tasks[sys.argv[1]](options)
    except BaseException as error:  # noqa: BLE001 - the steps so far are still printed
        seen["failed"] = f"{type(error).__name__}: {error} {getattr(error, 'exceptions', '')}"
    print(json.dumps(seen), flush=True)


anyio.run(main)
