"""The archive: a folder with `bin` and `share`, to be unpacked into a prefix such as ~/.local or /usr/local."""

from .contents import COMPLETION_FILES
from .files import Entry, write_tar_gz

SHELL_FOLDERS = {
    "bash": "share/bash-completion/completions",
    "zsh": "share/zsh/site-functions",
    "fish": "share/fish/vendor_completions.d",
}


def build(contents, out):
    """Writes the archive into the folder `out` and returns its path."""
    entries = {"bin/pegboard": Entry(contents.program.file, 0o755)}
    for name, page in contents.man_pages.items():
        entries[f"share/man/man1/{name}"] = Entry(page)
    for shell, script in contents.completions.items():
        entries[f"{SHELL_FOLDERS[shell]}/{COMPLETION_FILES[shell]}"] = Entry(script)
    for name, entry in contents.documents().items():
        entries[f"share/doc/pegboard/{name}"] = entry
    name = f"pegboard-{contents.version}-{contents.program.platform.target}"
    target = out / f"{name}.tar.gz"
    write_tar_gz(target, entries, contents.time, contents.level, prefix=name)
    return [target]
