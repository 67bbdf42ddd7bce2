"""The root filesystem of the container image, built without Docker. The Dockerfile's last stage is a copy of it.

It contains the program, the libraries that it loads, the certificates of public authorities and a user. There is no
shell and no package manager."""

import re
from pathlib import Path

from . import project
from .files import Entry, directory, write_tar_gz
from .project import PackageError

# The user that the program runs as. The Dockerfile names it too; tests/packages compares them.
USER = 10001
STATE = "var/lib/pegboard"
CERTIFICATES = "etc/ssl/certs/ca-certificates.crt"
# The Debian packages that the libraries and certificates are from, for their licence texts.
SYSTEM_PACKAGES = ("libc6", "libgcc-s1", "ca-certificates")

FILES = {
    "etc/passwd": f"root:x:0:0:root:/:/sbin/nologin\npegboard:x:{USER}:{USER}:pegboard:/{STATE}:/sbin/nologin\n",
    "etc/group": f"root:x:0:\npegboard:x:{USER}:\n",
    "etc/nsswitch.conf": "passwd: files\ngroup: files\nhosts: files dns\n",
}


def build(contents, out):
    """Writes the root filesystem as an archive into the folder `out` and returns its path."""
    target = out / f"pegboard-{contents.version}-{contents.program.platform.target}-rootfs.tar.gz"
    write_tar_gz(target, entries(contents), contents.time, contents.level)
    return [target]


def entries(contents):
    """Everything in the root filesystem."""
    found = {path: Entry(text.encode()) for path, text in FILES.items()}
    found["usr/bin/pegboard"] = Entry(contents.program.file, 0o755)
    for library in libraries(contents.program.file):
        found[library.lstrip("/")] = Entry(Path(library), 0o755)
    found[CERTIFICATES] = Entry(system_file(f"/{CERTIFICATES}"))
    for name in SYSTEM_PACKAGES:
        path = f"usr/share/doc/{name}/copyright"
        found[path] = Entry(system_file(f"/{path}"))
    for name, entry in contents.licence_files().items():
        found[f"usr/share/doc/pegboard/{name}"] = entry
    found[STATE] = directory(0o700, USER)
    found["tmp"] = directory(0o1777)
    # Where the container runtime mounts its own files.
    return found | {path: directory() for path in ("dev", "proc", "sys")}


def libraries(program):
    """The paths of the libraries that the program loads, with the loader itself."""
    text = project.run(["ldd", program])
    if missing := re.findall(r"(\S+) => not found", text):
        raise PackageError(f"the program needs {', '.join(missing)}, which this system does not have.")
    return sorted(set(re.findall(r"(?:=> |^\s+)(/\S+)", text, re.MULTILINE)))


def system_file(path):
    """A file of the Debian system that the packages are built on."""
    if not Path(path).is_file():
        raise PackageError(
            f"there is no {path}. The root filesystem is built from Debian's packages {', '.join(SYSTEM_PACKAGES)}: "
            "install them, or leave it out with --only."
        )
    return Path(path)
