"""Calls methods of the client and prints their outcomes as JSON: methods.py INSTRUCTION."""

import json
import sys

from pegboard import Pegboard, PegboardError

ask = json.loads(sys.argv[1])
names = {"configDir": "config_dir"}


def outcome(pegboard, step):
    method, *arguments = step
    if method == "url":
        return pegboard.url
    if method == "search":
        return [hit["tool"]["name"] for hit in pegboard.search(*arguments)]
    if method == "describe":
        return pegboard.describe(*arguments)["signature"]
    if method == "contextSummary":
        return pegboard.context_summary()
    if method == "definitions":
        return len(pegboard.definitions(arguments[0], loading=arguments[1]))
    result = pegboard.call(*arguments)
    return {"isError": result.is_error, "code": result.code, "text": result.text}


def failure(error):
    return {"error": {"code": error.code, "remedy": error.remedy, "shown": str(error), **error.details}}


printed = []
try:
    with Pegboard.open(**{names.get(key, key): value for key, value in ask["open"].items()}) as pegboard:
        for step in ask["steps"]:
            try:
                printed.append({"value": outcome(pegboard, step)})
            except PegboardError as error:
                printed.append(failure(error))
except PegboardError as error:
    printed.append(failure(error))
print(json.dumps(printed))
