"""The Debian package, built with `dpkg-deb`. It has no maintainer scripts."""

import os
import tempfile
from email.utils import formatdate
from pathlib import Path

from . import project
from .contents import COMPLETION_FILES
from .files import Entry, gzipped, with_parents, write_folder

SOURCE = project.ROOT / "packaging/debian"
SHELL_FOLDERS = {
    "bash": "usr/share/bash-completion/completions",
    "zsh": "usr/share/zsh/vendor-completions",
    "fish": "usr/share/fish/vendor_completions.d",
}
DOCUMENTS = "usr/share/doc/pegboard"


def package_version(contents):
    """The version in Debian's form, where a pre-release sorts before its release only with `~`."""
    return contents.version.replace("-", "~", 1)


def build(contents, out):
    """Writes the package into the folder `out` and returns its path."""
    entries = installed_files(contents)
    target = out / f"pegboard_{package_version(contents)}_{contents.program.platform.debian}.deb"
    # The best compression takes half a minute, so only releases use it.
    compression = ["-Zxz"] if contents.level == 9 else ["-Zgzip", "-z1"]
    with tempfile.TemporaryDirectory(prefix="pegboard-deb-") as folder:
        tree = Path(folder) / "root"
        write_folder(tree, with_parents(entries | {"DEBIAN/control": Entry(control(contents, entries))}))
        environment = os.environ | {"SOURCE_DATE_EPOCH": str(contents.time)}
        project.run(["dpkg-deb", "--root-owner-group", *compression, "--build", tree, target], env=environment)
    return [target]


def installed_files(contents):
    """What the package installs."""
    entries = {"usr/bin/pegboard": Entry(contents.program.file, 0o755)}
    for name, page in contents.man_pages.items():
        entries[f"usr/share/man/man1/{name}.gz"] = Entry(gzipped(page))
    for shell, script in contents.completions.items():
        entries[f"{SHELL_FOLDERS[shell]}/{COMPLETION_FILES[shell]}"] = Entry(script)
    documents = contents.documents()
    entries[f"{DOCUMENTS}/copyright"] = Entry(copyright_file(documents["LICENSE-MIT"].read().decode()))
    entries[f"{DOCUMENTS}/changelog.gz"] = Entry(gzipped(changelog(contents)))
    for name in ("README.md", "CHANGELOG.md", "THIRD-PARTY-LICENSES.txt"):
        entries[f"{DOCUMENTS}/{name}.gz"] = Entry(gzipped(documents[name].read()))
    return entries


def control(contents, entries):
    """The control file with its values filled in."""
    size = sum(len(entry.read()) for entry in entries.values()) // 1024 + 1
    values = {
        "VERSION": package_version(contents),
        "ARCHITECTURE": contents.program.platform.debian,
        "GLIBC": ".".join(map(str, contents.program.platform.needs)),
        "SIZE": str(size),
    }
    return filled((SOURCE / "control").read_text(), values)


def copyright_file(mit):
    """The copyright file with the text of the MIT licence, which Debian calls Expat."""
    text = "\n".join(f" {line}" if line else " ." for line in mit.strip().splitlines())
    return filled((SOURCE / "copyright").read_text(), {"MIT": text})


def changelog(contents):
    """A changelog in Debian's form that refers to the project's."""
    maintainer = next(line for line in (SOURCE / "control").read_text().splitlines() if line.startswith("Maintainer:"))
    return (
        f"pegboard ({package_version(contents)}) unstable; urgency=medium\n\n"
        "  * The changes are listed in CHANGELOG.md.gz.\n\n"
        f" -- {maintainer.split(':')[1].strip()}  {formatdate(contents.time)}\n"
    ).encode()


def filled(text, values):
    """The text with `@NAME@` replaced by its value."""
    for name, value in values.items():
        text = text.replace(f"@{name}@", value)
    return text.encode()
