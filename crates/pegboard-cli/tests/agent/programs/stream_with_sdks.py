"""Streams from the scripted model with the official SDKs, and checks that they read what it says.

    stream_with_sdks.py anthropic|openai BASE_URL
"""

import json
import sys

TOOLS = {
    "anthropic": [{"name": "add", "description": "Adds.", "input_schema": {"type": "object", "properties": {}}}],
    "openai": [{"type": "function", "name": "add", "parameters": {"type": "object", "properties": {}}, "strict": False}],
}


def with_anthropic(url):
    import anthropic

    client = anthropic.Anthropic(api_key="key", base_url=url, max_retries=2)
    messages = [{"role": "user", "content": [{"type": "text", "text": "1 + 2 and 3 + 4?"}]}]
    ask = dict(model="m-1", max_tokens=100, tools=TOOLS["anthropic"])
    with client.messages.stream(messages=messages, **ask) as stream:
        said = "".join(stream.text_stream)
        message = stream.get_final_message()
    assert said == "I add them.", said
    kinds = [block.type for block in message.content]
    assert kinds == ["thinking", "text", "tool_use", "tool_use"], kinds
    assert message.content[0].signature == "sealed"
    assert message.content[2].input == {"a": 1, "b": 2}, message.content
    assert message.stop_reason == "tool_use", message.stop_reason
    assert message.usage.output_tokens == 30, message.usage
    messages.append({"role": "assistant", "content": [block.model_dump(exclude_none=True) for block in message.content]})
    uses = [block for block in message.content if block.type == "tool_use"]
    results = [{"type": "tool_result", "tool_use_id": use.id, "content": [{"type": "text", "text": "3"}]} for use in uses]
    messages.append({"role": "user", "content": results})
    # The next turn of the script is an overload, which the SDK tries again.
    with client.messages.stream(messages=messages, **ask) as stream:
        message = stream.get_final_message()
    assert message.content[0].text == "3 and 7.", message
    assert message.stop_reason == "end_turn"
    messages.append({"role": "assistant", "content": [{"type": "tool_use", "id": "x", "name": "add", "input": {}}]})
    try:
        client.messages.create(messages=messages, stream=True, **ask)
    except anthropic.BadRequestError as error:
        assert "have no result" in str(error), error
    else:
        raise AssertionError("a call without an answer was accepted")


def with_openai(url):
    import openai

    client = openai.OpenAI(api_key="key", base_url=url, max_retries=2)
    items = [{"role": "user", "content": "1 + 2 and 3 + 4?"}]
    ask = dict(model="m-1", tools=TOOLS["openai"], store=False)
    said = ""
    with client.responses.stream(input=items, **ask) as stream:
        for event in stream:
            if event.type == "response.output_text.delta":
                said += event.delta
        response = stream.get_final_response()
    assert said == "I add them.", said
    kinds = [item.type for item in response.output]
    assert kinds == ["reasoning", "message", "function_call", "function_call"], kinds
    assert json.loads(response.output[2].arguments) == {"a": 1, "b": 2}, response.output
    assert response.output_text == "I add them."
    assert response.usage.total_tokens == 150, response.usage
    items += [item.model_dump(exclude_none=True) for item in response.output]
    calls = [item for item in response.output if item.type == "function_call"]
    items += [{"type": "function_call_output", "call_id": call.call_id, "output": "3"} for call in calls]
    with client.responses.stream(input=items, **ask) as stream:
        response = stream.get_final_response()
    assert response.output_text == "3 and 7.", response
    items.append({"type": "function_call", "call_id": "x", "name": "add", "arguments": "{}"})
    try:
        client.responses.create(input=items, stream=True, **ask)
    except openai.BadRequestError as error:
        assert "have no result" in str(error), error
    else:
        raise AssertionError("a call without an answer was accepted")


{"anthropic": with_anthropic, "openai": with_openai}[sys.argv[1]](sys.argv[2])
print("accepted")
