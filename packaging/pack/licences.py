"""The licence texts of everything that is built into the program, in one file."""

import json
import re
from pathlib import Path

from . import project
from .project import PackageError

FOLDER = project.ROOT / "packaging/licences"
# Files with a licence text, by their usual names.
LICENCE_NAME = re.compile(r"(?i)(un)?licen[cs]e.*|copying.*|copyright.*|notice.*")
# Names that match but hold code or data.
NO_TEXT = {".rs", ".c", ".h", ".py", ".json", ".toml", ".html"}
RULE = "=" * 100

HEADER = """Licences of the software that is part of Pegboard

Pegboard itself is licensed under MIT or Apache-2.0, at your option. The program contains the software below, under
the licences that follow. Where a licence expression offers a choice (OR), any of the texts may be used.
"""


def third_party_text(target):
    """The text of THIRD-PARTY-LICENSES.txt for a program that was built for `target`.

    Fails if there is no licence text for a crate."""
    table = without_text()
    texts = {}
    for crate in linked_crates(target):
        title = f"{crate['name']} {crate['version']} ({crate['license'] or 'see below'})"
        for text in crate_texts(crate, table["crates"]):
            texts.setdefault(text, []).append(title)
    for other in table["other"]:
        texts.setdefault(other_text(other), []).append(other["name"])
    parts = ["\n".join(sorted(names)) + "\n\n" + text for text, names in texts.items()]
    return f"\n{RULE}\n\n".join([HEADER, *sorted(parts)])


def without_text():
    """The table of crates that publish no licence text, and of what is built in without being a crate."""
    return json.loads((FOLDER / "without-text.json").read_text())


def linked_crates(target):
    """All crates from elsewhere that the program depends on, with `cargo metadata`'s data, sorted by name.

    These are a few more than are linked: also macros and what only another feature uses."""
    command = ["cargo", "metadata", "--locked", "--format-version", "1", "--filter-platform", target]
    data = json.loads(project.run(command, cwd=project.ROOT))
    packages = {package["id"]: package for package in data["packages"]}
    nodes = {node["id"]: node for node in data["resolve"]["nodes"]}
    waiting = [package["id"] for package in data["packages"] if package["name"] == "pegboard-cli"]
    reached = set()
    while waiting:
        package = waiting.pop()
        if package in reached:
            continue
        reached.add(package)
        for dependency in nodes[package]["deps"]:
            if any(kind["kind"] is None for kind in dependency["dep_kinds"]):
                waiting.append(dependency["pkg"])
    foreign = [packages[package] for package in reached if packages[package]["source"]]
    return sorted(foreign, key=lambda crate: (crate["name"], crate["version"]))


def licence_files(crate):
    """The crate's files with a licence text, also those of code that it contains."""
    folder = Path(crate["manifest_path"]).parent
    named = [file for file in folder.rglob("*") if LICENCE_NAME.fullmatch(file.name) or file.parent.name == "LICENSES"]
    if crate["license_file"]:
        named.append(folder / crate["license_file"])
    return sorted({file for file in named if file.is_file() and file.suffix not in NO_TEXT})


def crate_texts(crate, table):
    """The licence texts of a crate. Fails if there is none."""
    texts = [normalised(file.read_text(errors="replace")) for file in licence_files(crate)]
    if texts:
        return texts
    entry = table.get(crate["name"])
    if not entry:
        raise PackageError(
            f"the crate {crate['name']} {crate['version']} ({crate['license']}) publishes no licence text. "
            "Add it to packaging/licences/without-text.json."
        )
    if entry["licence"] not in re.split(r"\s+OR\s+|/", crate["license"] or ""):
        raise PackageError(
            f"without-text.json says {entry['licence']} for {crate['name']}, but the crate says {crate['license']}."
        )
    return [other_text(entry)]


def other_text(entry):
    """The text of an entry of without-text.json."""
    if "licence" in entry:
        template = (FOLDER / f"{entry['licence']}.txt").read_text()
        return normalised(template.replace("{holder}", entry["holder"]))
    if "notice_file" in entry:
        return normalised((project.ROOT / entry["notice_file"]).read_text())
    return normalised(entry["notice"])


def normalised(text):
    """The text without differences that are only spaces at the end of lines."""
    return "\n".join(line.rstrip() for line in text.strip().splitlines()) + "\n"
