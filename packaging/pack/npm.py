"""The npm packages: `pegboard` with the launcher and the client library, and one with the program of this platform.

Both are written as `npm pack` writes them: a compressed tar archive of files below `package/`."""

import json

from . import files, project
from .files import Entry, write_tar_gz
from .project import PackageError

SOURCE = project.ROOT / "packaging/npm"


def build(contents, out):
    """Writes both packages into the folder `out` and returns their paths."""
    system, cpu = contents.program.platform.npm
    packages = {
        f"pegboard-npm-{contents.version}.tgz": main_package(contents),
        f"pegboard-npm-{system}-{cpu}-{contents.version}.tgz": platform_package(contents, system, cpu),
    }
    for name, entries in packages.items():
        write_tar_gz(out / name, entries, contents.time, contents.level, prefix="package", directories=False)
    return [out / name for name in packages]


def main_package(contents):
    """The files of the package `pegboard`: those that package.json lists, with the version filled in."""
    manifest = json.loads((SOURCE / "package.json").read_text())
    manifest["version"] = contents.version
    manifest["optionalDependencies"] = dict.fromkeys(manifest["optionalDependencies"], contents.version)
    entries = {"package.json": json_entry(manifest)}
    for name in ("LICENSE-MIT", "LICENSE-APACHE"):
        entries[name] = contents.licence_files()[name]
    for listed in manifest["files"]:
        if listed not in entries:
            entries |= source_files(listed, manifest["bin"].values())
    check_targets(manifest, entries)
    return entries


def source_files(listed, executable):
    """The files of one name that package.json lists: a file, or all files of a folder."""
    source = SOURCE / listed
    found = [source] if source.is_file() else files.sources(source)
    if not found:
        raise PackageError(f"packaging/npm/package.json lists `{listed}`, but there is no {source}.")
    paths = {str(file.relative_to(SOURCE)): file for file in found}
    return {path: Entry(file, 0o755 if path in executable else 0o644) for path, file in paths.items()}


def check_targets(manifest, entries):
    """Fails if package.json refers to a file that the package does not contain."""
    exported = [target for export in manifest["exports"].values() for target in targets(export)]
    for target in [*manifest["bin"].values(), *exported]:
        if target.removeprefix("./") not in entries:
            raise PackageError(f"packaging/npm/package.json refers to `{target}`, which is not in the package.")


def targets(export):
    """The files of one entry of `exports`."""
    return [export] if isinstance(export, str) else export.values()


def platform_package(contents, system, cpu):
    """The files of the package that contains only the program of this platform."""
    manifest = {
        "name": f"@pegboard/{system}-{cpu}",
        "version": contents.version,
        "description": f"The program of the package `pegboard` for {system}-{cpu}",
        "license": "MIT OR Apache-2.0",
        "os": [system],
        "cpu": [cpu],
    }
    if system == "linux":
        manifest["libc"] = ["glibc"]
    readme = f"# {manifest['name']}\n\nThe program of the package `pegboard` for {system}-{cpu}. Install that package.\n"
    return contents.licence_files() | {
        "package.json": json_entry(manifest),
        "README.md": Entry(readme.encode()),
        "bin/pegboard": Entry(contents.program.file, 0o755),
    }


def json_entry(value):
    """A JSON file."""
    return Entry((json.dumps(value, indent=2) + "\n").encode())
