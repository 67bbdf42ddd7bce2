"""Checks rendered tool definitions with the providers' own SDKs.

check_with_sdks.py DIR

DIR holds one folder a format with JSON files, each the value of a request's `tools`, as
`cargo run -p pegboard-formats --example convert_lists -- LISTS --out DIR` writes them. Files that end in
`.losses.json` are passed over. `search-anthropic/` and `search-openai/` may hold answers of a client-side search.

Needs anthropic, openai, google-genai and botocore. Prints a line a format and ends with 1 when an SDK refuses
something.
"""

import json
import re
import sys
from pathlib import Path

import anthropic.types as anthropic_types
import botocore.session
import openai.types.chat as openai_chat
import openai.types.responses as openai_responses
from anthropic.types.tool_param import InputSchemaTyped
from botocore.serialize import create_serializer
from botocore.validate import ParamValidator
from google.genai import types as gemini_types
from pydantic import TypeAdapter, ValidationError

PATTERN_KEYWORDS = ("properties", "$defs", "patternProperties", "dependentSchemas")


def refuse_unknown_fields(value, model, where):
    """A typed dictionary passes over fields that it does not know; the service does not."""
    unknown = set(value) - set(all_fields(model))
    if unknown:
        raise ValueError(f"{where}: the SDK knows no field {sorted(unknown)}")


def all_fields(model):
    fields = {}
    for base in reversed(model.__mro__ if hasattr(model, "__mro__") else [model]):
        fields.update(getattr(base, "__annotations__", {}))
    return fields


def each_pattern(schema):
    """Every regular expression of a schema; the services' checkers compile them with Python."""
    if isinstance(schema, list):
        for part in schema:
            yield from each_pattern(part)
    elif isinstance(schema, dict):
        for keyword, value in schema.items():
            if keyword == "pattern" and isinstance(value, str):
                yield value
            elif keyword in PATTERN_KEYWORDS and isinstance(value, dict):
                for part in value.values():
                    yield from each_pattern(part)
            elif keyword not in ("enum", "const", "default", "examples", "required"):
                yield from each_pattern(value)


def compile_patterns(schema):
    for pattern in each_pattern(schema):
        re.compile(pattern)


class Anthropic:
    tool = TypeAdapter(anthropic_types.ToolParam)
    any_tool = TypeAdapter(anthropic_types.ToolUnionParam)
    schema = TypeAdapter(InputSchemaTyped)
    bm25 = TypeAdapter(anthropic_types.ToolSearchToolBm25_20251119Param)

    def check(self, tools):
        count = 0
        for tool in tools:
            self.any_tool.validate_python(tool, strict=True)
            if "type" in tool:
                self.bm25.validate_python(tool, strict=True)
                continue
            count += 1
            refuse_unknown_fields(tool, anthropic_types.ToolParam, tool["name"])
            checked = self.tool.validate_python(tool, strict=True)
            for example in checked.get("input_examples", []):
                assert isinstance(example, dict)
            self.schema.validate_python(tool["input_schema"], strict=True)
            compile_patterns(tool["input_schema"])
        return count


class OpenAiResponses:
    function = TypeAdapter(openai_responses.FunctionToolParam)
    any_tool = TypeAdapter(openai_responses.ToolParam)
    namespace = TypeAdapter(openai_responses.NamespaceToolParam)
    search = TypeAdapter(openai_responses.ToolSearchToolParam)

    def check(self, tools):
        count = 0
        for tool in tools:
            self.any_tool.validate_python(tool, strict=True)
            if tool["type"] == "namespace":
                refuse_unknown_fields(tool, openai_responses.NamespaceToolParam, tool["name"])
                checked = self.namespace.validate_python(tool, strict=True)
                # The SDK reads the list as it is used.
                assert len(list(checked["tools"])) == len(tool["tools"])
                count += self.check(tool["tools"])
            elif tool["type"] == "tool_search":
                refuse_unknown_fields(tool, openai_responses.ToolSearchToolParam, "tool_search")
                self.search.validate_python(tool, strict=True)
            else:
                refuse_unknown_fields(tool, openai_responses.FunctionToolParam, tool["name"])
                self.function.validate_python(tool, strict=True)
                # What the service sends back is a model of its own, which is stricter.
                openai_responses.FunctionTool.model_validate(tool, strict=True)
                compile_patterns(tool["parameters"])
                count += 1
        return count


class OpenAiChat:
    tool = TypeAdapter(openai_chat.ChatCompletionFunctionToolParam)

    def check(self, tools):
        fields = openai_chat.ChatCompletionFunctionToolParam
        for tool in tools:
            refuse_unknown_fields(tool, fields, tool["function"]["name"])
            self.tool.validate_python(tool, strict=True)
            compile_patterns(tool["function"]["parameters"])
        return len(tools)


class Gemini:
    def check(self, tools):
        count = 0
        for tool in tools:
            # Its models refuse fields that they do not know.
            checked = gemini_types.Tool.model_validate(tool)
            for ours, theirs in zip(tool["functionDeclarations"], checked.function_declarations):
                written = theirs.model_dump(by_alias=True, exclude_none=True, mode="json")
                if written != ours:
                    raise ValueError(f"{ours['name']}: the SDK would send something else: {written}")
                count += 1
        return count


class Bedrock:
    def __init__(self):
        model = botocore.session.get_session().get_service_model("bedrock-runtime")
        self.operation = model.operation_model("Converse")
        self.serializer = create_serializer("rest-json")
        self.name = re.compile(model.shape_for("ToolName").metadata.get("pattern", "[a-zA-Z0-9_-]+"))

    def check(self, tools):
        if not tools:
            return 0
        request = {
            "modelId": "model",
            "messages": [{"role": "user", "content": [{"text": "hello"}]}],
            "toolConfig": {"tools": tools},
        }
        report = ParamValidator().validate(request, self.operation.input_shape)
        if report.has_errors():
            raise ValueError(report.generate_report())
        sent = self.serializer.serialize_to_request(request, self.operation)
        if json.loads(sent["body"])["toolConfig"]["tools"] != tools:
            raise ValueError("the SDK would send something else")
        for tool in tools:
            if not self.name.fullmatch(tool["toolSpec"]["name"]):
                raise ValueError(f"{tool['toolSpec']['name']}: not a tool's name")
            compile_patterns(tool["toolSpec"]["inputSchema"]["json"])
        return len(tools)


class AnthropicAnswer:
    block = TypeAdapter(anthropic_types.ToolResultBlockParam)
    reference = TypeAdapter(anthropic_types.ToolReferenceBlockParam)

    def check(self, answer):
        self.block.validate_python(answer, strict=True)
        references = [part for part in answer["content"] if part["type"] == "tool_reference"]
        for part in references:
            self.reference.validate_python(part, strict=True)
        return len(references)


class OpenAiAnswer:
    item = TypeAdapter(openai_responses.ResponseInputItemParam)
    output = TypeAdapter(openai_responses.ResponseToolSearchOutputItemParamParam)

    def check(self, answer):
        self.item.validate_python(answer, strict=True)
        checked = self.output.validate_python(answer, strict=True)
        assert len(list(checked["tools"])) == len(answer["tools"])
        return OpenAiResponses().check(answer["tools"])


CHECKS = {
    "anthropic": Anthropic,
    "anthropic-deferred": Anthropic,
    "openai-responses": OpenAiResponses,
    "openai-deferred": OpenAiResponses,
    "openai-chat": OpenAiChat,
    "gemini": Gemini,
    "bedrock": Bedrock,
    "search-anthropic": AnthropicAnswer,
    "search-openai": OpenAiAnswer,
}


def main(folder):
    bad = 0
    for name, kind in CHECKS.items():
        files = [f for f in sorted((folder / name).glob("*.json")) if not f.name.endswith(".losses.json")]
        if not files:
            if not name.startswith("search-"):
                print(f"{name}: nothing to check")
                bad = 1
            continue
        check, accepted = kind(), 0
        for file in files:
            try:
                accepted += check.check(json.loads(file.read_text()))
            except (ValidationError, ValueError, KeyError, TypeError, AssertionError, re.error) as error:
                print(f"{name}/{file.name}: refused: {type(error).__name__}: {str(error)[:2000]}")
                bad = 1
        print(f"{name}: {accepted} accepted in {len(files)} files")
    return bad


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1])))
