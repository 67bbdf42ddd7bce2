"""Builds the wheel: the Python package, and the program as a script of it. Uses only the standard library.

`build_wheel` is a build backend (PEP 517), so `pip install packaging/python` works in a checkout; it packages the
program that PEGBOARD_PROGRAM names. `scripts/package` builds the wheels of a release with `write_wheel`.
"""

import base64
import hashlib
import os
import sys
import time
import tomllib
import zipfile
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent))


def build_wheel(wheel_directory, config_settings=None, metadata_directory=None):
    """Builds the wheel with the program that PEGBOARD_PROGRAM names. Returns its file name."""
    import tempfile

    from pack import contents, program
    from pack.project import PackageError

    source = os.environ.get("PEGBOARD_PROGRAM")
    if not source:
        raise PackageError("set PEGBOARD_PROGRAM to the program, for example target/release/pegboard.")
    with tempfile.TemporaryDirectory(prefix="pegboard-wheel-") as work:
        prepared = program.prepare(Path(source).resolve(), Path(work))
        return write_wheel(contents.collect(prepared, level=1), Path(wheel_directory)).name


def build_sdist(sdist_directory, config_settings=None):
    """There is no source distribution: the program is built from the whole repository."""
    raise RuntimeError("there is no source distribution of pegboard; build a wheel from a checkout of the repository.")


def write_wheel(contents, out):
    """Writes the wheel into the folder `out` and returns its path."""
    from pack.files import sources
    from pack.project import python_version

    project = tomllib.loads((HERE / "pyproject.toml").read_text())["project"]
    name, version = project["name"], python_version(contents.version)
    tag = f"py3-none-{contents.program.platform.wheel_tag}"
    info = f"{name}-{version}.dist-info"
    files = {f"{name}-{version}.data/scripts/pegboard": (contents.program.file.read_bytes(), 0o755)}
    for source in sources(HERE / "src"):
        files[str(source.relative_to(HERE / "src"))] = (source.read_bytes(), 0o644)
    for licence, entry in contents.licence_files().items():
        files[f"{info}/licenses/{licence}"] = (entry.read(), 0o644)
    files[f"{info}/METADATA"] = (metadata(project, version, contents.licence_files()).encode(), 0o644)
    files[f"{info}/WHEEL"] = (f"Wheel-Version: 1.0\nGenerator: pegboard\nRoot-Is-Purelib: false\nTag: {tag}\n".encode(), 0o644)
    files[f"{info}/RECORD"] = (record(files, f"{info}/RECORD").encode(), 0o644)
    target = out / f"{name}-{version}-{tag}.whl"
    write_zip(target, files, contents.time, contents.level)
    return target


def metadata(project, version, licences):
    """The file METADATA, from the project's table in pyproject.toml."""
    lines = ["Metadata-Version: 2.4", f"Name: {project['name']}", f"Version: {version}"]
    lines += [f"Summary: {project['description']}", f"Keywords: {','.join(project['keywords'])}"]
    lines += [f"License-Expression: {project['license']}", *(f"License-File: {name}" for name in licences)]
    lines += [f"Classifier: {classifier}" for classifier in project["classifiers"]]
    lines += [f"Requires-Python: {project['requires-python']}"]
    for extra, needed in [("", project["dependencies"]), *project.get("optional-dependencies", {}).items()]:
        lines += [f"Provides-Extra: {extra}"] if extra else []
        lines += [f"Requires-Dist: {package}" + (f"; extra == '{extra}'" if extra else "") for package in needed]
    lines += ["Description-Content-Type: text/markdown", "", (HERE / project["readme"]).read_text()]
    return "\n".join(lines)


def record(files, own):
    """The file RECORD: the hash and the size of every other file."""
    lines = []
    for path, (content, _) in sorted(files.items()):
        digest = base64.urlsafe_b64encode(hashlib.sha256(content).digest()).rstrip(b"=").decode()
        lines.append(f"{path},sha256={digest},{len(content)}\n")
    return "".join([*lines, f"{own},,\n"])


def write_zip(target, files, seconds, level):
    """Writes a zip archive whose bytes depend only on the files and the given time; RECORD is last."""
    with zipfile.ZipFile(target, "w", zipfile.ZIP_DEFLATED, compresslevel=level) as archive:
        for path, (content, mode) in sorted(files.items(), key=lambda file: (file[0].endswith("/RECORD"), file[0])):
            entry = zipfile.ZipInfo(path, time.gmtime(seconds)[:6])
            entry.compress_type = zipfile.ZIP_DEFLATED
            entry.create_system = 3  # Unix, so that the mode below counts
            entry.external_attr = (0o100000 | mode) << 16
            archive.writestr(entry, content, compresslevel=level)
