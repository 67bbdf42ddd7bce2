"""What belongs to the program in every package: licence texts, man pages and shell completions."""

import os
import tempfile
from dataclasses import dataclass
from pathlib import Path

from . import licences, project
from .files import Entry
from .project import PackageError

# The name under which each shell looks for the completions.
COMPLETION_FILES = {"bash": "pegboard", "zsh": "_pegboard", "fish": "pegboard.fish"}


@dataclass(frozen=True)
class Contents:
    """The program and everything that is packaged with it."""

    program: object
    version: str
    time: int
    level: int
    man_pages: dict
    completions: dict
    third_party: bytes

    def licence_files(self):
        """The licence texts by file name."""
        own = {name: Entry(project.ROOT / name) for name in ("LICENSE-MIT", "LICENSE-APACHE")}
        return own | {"THIRD-PARTY-LICENSES.txt": Entry(self.third_party)}

    def documents(self):
        """The licence texts, the readme and the changelog by file name."""
        return self.licence_files() | {name: Entry(project.ROOT / name) for name in ("README.md", "CHANGELOG.md")}


def collect(program, level):
    """Collects the contents of the packages. `level` is the degree of compression, 1 (fast) to 9 (small)."""
    with tempfile.TemporaryDirectory(prefix="pegboard-package-") as home:
        # The program must not read the configuration of the user who builds the packages.
        environment = {"PATH": os.environ["PATH"], "HOME": home, "SOURCE_DATE_EPOCH": str(project.source_time())}
        return Contents(
            program=program,
            version=project.version(),
            time=project.source_time(),
            level=level,
            man_pages=man_pages(program, Path(home) / "man", environment),
            completions=completions(program, environment),
            third_party=licences.third_party_text(program.platform.target).encode(),
        )


def man_pages(program, folder, environment):
    """The man pages by file name, as the program writes them."""
    folder.mkdir()
    project.run([program.file, "man", folder], env=environment)
    pages = {page.name: page.read_bytes() for page in folder.iterdir()}
    if "pegboard.1" not in pages:
        raise PackageError("`pegboard man` wrote no page `pegboard.1`.")
    return pages


def completions(program, environment):
    """The completion script of each shell, by the name of the shell."""
    scripts = {}
    for shell in COMPLETION_FILES:
        script = project.run([program.file, "completions", shell], env=environment)
        if "pegboard" not in script:
            raise PackageError(f"`pegboard completions {shell}` printed no completions for pegboard.")
        scripts[shell] = script.encode()
    return scripts
