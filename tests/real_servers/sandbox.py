"""Discovers real MCP servers without and with `sandbox = "default"` and prints what differs.

    sandbox.py PEGBOARD TEST_ENV

`TEST_ENV` is the folder of `scripts/install-test-env`. The servers of `scripts/real-servers` are included if they are
installed there. The exit code is 1 if a server works without a sandbox and not in it.
"""

import json
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from compare import Machine

# How long one server may take.
SECONDS = 120


def servers(machine, test_env, files):
    """Name and command of each server that is installed."""
    modules = test_env / "npm/node_modules/@modelcontextprotocol"
    found = {
        "everything": ["node", modules / "server-everything/dist/index.js"],
        "filesystem": ["node", modules / "server-filesystem/dist/index.js", files],
        "memory": ["node", modules / "server-memory/dist/index.js"],
        "fetch": [test_env / "python/bin/mcp-server-fetch"],
        "git": [test_env / "python/bin/mcp-server-git", "--repository", files],
        "time": [test_env / "python/bin/mcp-server-time"],
    }
    rows = [{"name": name, "command": [str(word) for word in words], "env": {}} for name, words in found.items()]
    known = {row["name"] for row in rows}
    rows = [row for row in rows if Path(row["command"][-1 if row["command"][0] == "node" else 0]).exists()
            or row["name"] == "filesystem"]
    return rows + [server for server in (machine.servers if machine else []) if server["name"] not in known]


def run(pegboard, folder, mode, server):
    """The number of tools and the refused paths, or the error."""
    home = folder / mode / server["name"]
    (home / "config").mkdir(parents=True)
    program, *words = server["command"]
    lines = [f"[servers.{server['name']}]", f"command = {json.dumps(program)}", f"args = {json.dumps(words)}",
             f'sandbox = "{mode}"', 'discovery_timeout = "60s"']
    lines += [f"env.{name} = {json.dumps(value)}" for name, value in server["env"].items()]
    (home / "config/config.toml").write_text("\n".join(lines) + "\n")
    env = {"PATH": os.environ["PATH"], "HOME": str(folder / "home"), "PEGBOARD_CONFIG_DIR": str(home / "config"),
           "PEGBOARD_STATE_DIR": str(home / "state")}
    words = ["refresh", server["name"], "--json"]
    done = subprocess.run([pegboard, *words], env=env, cwd=folder, capture_output=True, text=True, timeout=SECONDS)
    log = subprocess.run([pegboard, "logs", server["name"]], env=env, cwd=folder, capture_output=True, text=True)
    refused = sum(word in line for line in log.stdout.splitlines()
                  for word in ("EACCES", "EPERM", "Permission denied", "not permitted"))
    tools = subprocess.run([pegboard, "tools", server["name"], "--json"], env=env, cwd=folder, capture_output=True,
                           text=True)
    count = len(json.loads(tools.stdout)["tools"]) if tools.returncode == 0 else 0
    return (count if done.returncode == 0 else None), refused


def main():
    pegboard, test_env = sys.argv[1], Path(sys.argv[2])
    installed = test_env / "real-servers"
    machine = Machine(pegboard, installed) if (installed / "installed").exists() else None
    # Not in the temporary folder, which confined servers may write.
    folder = Path(tempfile.mkdtemp(prefix="sandbox-table-", dir=Path(pegboard).parent))
    try:
        if machine:
            machine.prepare()
        (folder / "home").mkdir()
        files = folder / "files"
        files.mkdir()
        subprocess.run(["git", "init", "-q", files], check=True)
        broken = 0
        print(f"{'server':<24}{'off':>6}{'default':>9}  refused lines")
        for server in servers(machine, test_env, files):
            free, _ = run(pegboard, folder, "off", server)
            confined, refused = run(pegboard, folder, "default", server)
            broken += free is not None and confined != free
            shown = ["fails" if count is None else count for count in (free, confined)]
            print(f"{server['name']:<24}{shown[0]:>6}{shown[1]:>9}  {refused or ''}", flush=True)
        print(f"{broken} broken by the sandbox")
        return 1 if broken else 0
    finally:
        shutil.rmtree(folder, ignore_errors=True)
        if machine:
            shutil.rmtree(machine.folder, ignore_errors=True)


if __name__ == "__main__":
    sys.exit(main())
