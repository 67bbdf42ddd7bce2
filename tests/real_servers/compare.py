"""Discovers real MCP servers with Pegboard from fresh state and compares calls with direct ones, byte for byte.

    compare.py packages                      prints what has to be installed
    compare.py compare PEGBOARD INSTALLED    compares

`INSTALLED` is the folder into which `scripts/real-servers` installed the servers of `servers.json`. Prints a table;
the exit code is 1 if a server was not discovered or a result differs.
"""

import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from mcp_client import LEGACY, MODERN, Client

HERE = Path(__file__).parent
# How long all servers together may take to be discovered.
DISCOVERY_SECONDS = 300


class Machine:
    """Folders that are gone afterwards. Servers see the same paths in both rounds, each time with fresh contents."""

    def __init__(self, pegboard, installed):
        self.pegboard, self.installed = pegboard, Path(installed)
        self.folder = Path(tempfile.mkdtemp(prefix="pegboard-real-servers-"))
        self.work = self.folder / "work"
        self.env = {"PATH": os.environ["PATH"], "HOME": str(self.folder / "home")}
        self.servers = [self.located(server) for server in listed_servers()]

    def located(self, server):
        """The server with its command and its paths filled in."""
        def fill(value):
            return json.loads(json.dumps(value).replace("{work}", str(self.work)))
        command = [str(self.installed / "bin" / server.get("program", server.get("pypi", "")))]
        if package := server.get("npm"):
            folder = self.installed / "npm/node_modules" / package
            programs = json.loads((folder / "package.json").read_text())["bin"]
            program = programs if isinstance(programs, str) else next(iter(programs.values()))
            command = ["node", str(folder / program)]
        return {
            "name": server["name"], "package": server.get("npm") or server["pypi"], "version": server["version"],
            "command": command + fill(server.get("args", [])), "env": fill(server.get("env", {})),
            "calls": fill(server["calls"]),
        }

    def prepare(self):
        """Fills the servers' folders, in the same way each time."""
        for folder in (self.work, self.folder / "home"):
            shutil.rmtree(folder, ignore_errors=True)
        (self.folder / "home").mkdir()
        repository, files = self.work / "repo", self.work / "files"
        repository.mkdir(parents=True)
        files.mkdir()
        (files / "notes.txt").write_text("first line\nsecond line\n")
        (repository / "poem.txt").write_text("roses\n")
        moment = "2026-01-02T03:04:05+00:00"
        person = {f"GIT_{role}_{key}": value for role in ("AUTHOR", "COMMITTER")
                  for key, value in (("NAME", "Ada"), ("EMAIL", "ada@example.com"), ("DATE", moment))}
        for words in (["init", "-q", "-b", "main"], ["add", "."], ["commit", "-q", "-m", "Begin"]):
            subprocess.run(["git", *words], cwd=repository, env={**self.env, **person}, check=True)

    def direct(self, server):
        """The era that a server speaks, its tools, and the results of its calls."""
        client = Client(server["command"], {**self.env, **server["env"]}, self.folder)
        try:
            return client.era, client.tools(), [client.call(*call) for call in server["calls"]]
        finally:
            client.close()

    def run_pegboard(self, *words):
        return subprocess.run([self.pegboard, *words], env=self.pegboard_env(), cwd=self.folder,
                              check=True, capture_output=True).stdout

    def pegboard_env(self):
        return {**self.env, "PEGBOARD_CONFIG_DIR": str(self.folder / "config"),
                "PEGBOARD_STATE_DIR": str(self.folder / "state")}

    def configure(self):
        """Writes Pegboard's configuration; TOML reads texts and lists as JSON writes them."""
        lines = ["[profiles.direct]", 'mode = "direct"']
        for server in self.servers:
            program, *words = server["command"]
            lines += ["", f"[servers.{server['name']}]", f"command = {json.dumps(program)}",
                      f"args = {json.dumps(words)}"]
            lines += [f"env.{name} = {json.dumps(value)}" for name, value in server["env"].items()]
        (self.folder / "config").mkdir()
        (self.folder / "config/config.toml").write_text("\n".join(lines) + "\n")

    def session(self, *words, era=MODERN):
        return Client([self.pegboard, "stdio", *words], self.pegboard_env(), self.folder, era)


def discover(machine):
    """One search in a fresh session; the servers by name and the seconds until no discovery was left."""
    begin = time.monotonic()
    session = machine.session()
    session.call("search_tools", {"query": "read a file"})
    try:
        while True:
            listed = json.loads(machine.run_pegboard("list", "--json"))["servers"]
            seconds = time.monotonic() - begin
            if all(server["status"] == "success" for server in listed) or seconds > DISCOVERY_SECONDS:
                return {server["name"]: server for server in listed}, seconds
            time.sleep(0.5)
    finally:
        session.close()


def compare(machine, expected):
    """For each server the numbers of calls whose results differ."""
    sessions = {era: machine.session("--profile", "direct", era=era) for era in (LEGACY, MODERN)}
    differing = {}
    for server in machine.servers:
        era, _, results = expected[server["name"]]
        for (tool, arguments), direct in zip(server["calls"], results):
            through = sessions[era].call(f"{server['name']}__{tool}", arguments)
            if through != direct:
                differing.setdefault(server["name"], []).append((tool, direct, through))
    for session in sessions.values():
        session.close()
    return differing


def listed_servers():
    return json.loads((HERE / "servers.json").read_text())


def print_packages():
    for server in listed_servers():
        if "npm" in server:
            print("npm", f"{server['npm']}@{server['version']}")
        else:
            print("pypi", f"{server['pypi']}=={server['version']}", server.get("with", ""))


def main():
    task, *words = sys.argv[1:]
    if task == "packages":
        return print_packages()
    machine = Machine(*words)
    try:
        machine.prepare()
        expected = {server["name"]: machine.direct(server) for server in machine.servers}
        machine.prepare()
        machine.configure()
        found, seconds = discover(machine)
        differing = compare(machine, expected)
    finally:
        shutil.rmtree(machine.folder, ignore_errors=True)
    sys.exit(report(machine, expected, found, seconds, differing))


def report(machine, expected, found, seconds, differing):
    print(f"{'server':<12}{'package':<50}{'version':<13}{'era':<12}{'tools':>6}{'found':>7}{'calls':>7}{'same':>6}")
    faults = 0
    for server in machine.servers:
        name = server["name"]
        era, tools, results = expected[name]
        listed = found.get(name, {})
        known = listed.get("tools", 0) if listed.get("status") == "success" else listed.get("status", "unknown")
        same = len(results) - len(differing.get(name, []))
        # A server may have more tools for Pegboard, which declares more capabilities than the client here.
        is_found = listed.get("status") == "success" and known >= len(tools)
        faults += not is_found or same != len(results)
        print(f"{name:<12}{server['package']:<50}{server['version']:<13}{era:<12}"
              f"{len(tools):>6}{known:>7}{len(results):>7}{same:>6}")
    calls = sum(len(results) for _, _, results in expected.values())
    same = calls - sum(len(calls) for calls in differing.values())
    known = sum(server["status"] == "success" for server in found.values())
    print(f"\n{known} of {len(expected)} servers discovered in {seconds:.0f} s; {same} of {calls} results are the same.")
    for name, calls in differing.items():
        for tool, direct, through in calls:
            print(f"\n{name}/{tool}\n  direct:  {direct.decode()[:2000]}\n  through: {through.decode()[:2000]}")
    return 1 if faults else 0


if __name__ == "__main__":
    main()
