"""Runs a scripted conversation with an SDK and prints the outcome as JSON: run_tools.py INSTRUCTION."""

import asyncio
import json
import sys

import anthropic
import openai
from pegboard import AsyncPegboard, Pegboard

ask = json.loads(sys.argv[1])
api = ask["api"]


def sdk(anthropic_client, openai_client):
    kind = anthropic_client if api == "anthropic" else openai_client
    return kind(api_key="sk-test", base_url=ask["url"], max_retries=0)


def request(conversation):
    if api == "anthropic":
        return {"model": "m-1", "max_tokens": 1000, "messages": conversation}
    if api == "openai-responses":
        return {"model": "m-1", "input": conversation}
    return {"model": "m-1", "messages": conversation}


def order_status(arguments):
    if arguments["id"] != 7:
        raise KeyError("no such order")
    return {"id": arguments["id"], "status": "shipped"}


def options():
    chosen = {"max_rounds": ask.get("maxRounds", 20), "loading": ask.get("loading", "meta")}
    if ask.get("own"):
        schema = {"type": "object", "properties": {"id": {}}}
        function = {"name": "order_status", "description": "Returns an order's status."}
        tools = {
            "anthropic": {**function, "input_schema": schema},
            "openai-responses": {**function, "type": "function", "parameters": schema, "strict": False},
            "openai-chat": {"type": "function", "function": {**function, "parameters": schema, "strict": False}},
        }
        chosen |= {"tools": [tools[api]], "handlers": {"order_status": order_status}}
    return chosen


def shown(run, then):
    calls = [
        {"name": call.name, "isError": call.result.is_error, "code": call.result.code,
         "text": call.result.text, "tool": call.result.tool}
        for call in run.calls
    ]
    print(json.dumps({"text": run.text, "stop": run.stop, "rounds": run.rounds, "calls": calls, "then": then}))


def user(text):
    return {"role": "user", "content": text}


def run_sync():
    client = sdk(anthropic.Anthropic, openai.OpenAI)
    with Pegboard.open() as pegboard:
        run = pegboard.run_tools(client, **options(), **request([user("Add.")]))
        then = None
        if "then" in ask:
            more = [*run.messages, user(ask["then"])]
            then = pegboard.run_tools(client, **options(), **request(more)).text
        shown(run, then)


async def run_async():
    client = sdk(anthropic.AsyncAnthropic, openai.AsyncOpenAI)
    async with await AsyncPegboard.open() as pegboard:
        run = await pegboard.run_tools(client, **options(), **request([user("Add.")]))
        then = None
        if "then" in ask:
            more = [*run.messages, user(ask["then"])]
            then = (await pegboard.run_tools(client, **options(), **request(more))).text
        shown(run, then)
    await client.close()


if ask["async"]:
    asyncio.run(run_async())
else:
    run_sync()
