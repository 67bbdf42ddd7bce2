"""What is known about the checkout: its folder, version and time."""

import os
import re
import subprocess
import sys
import tomllib
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
# The first time that a zip file can hold: 1980-01-01. Used if neither git nor SOURCE_DATE_EPOCH is there.
FIRST_ZIP_TIME = 315532800


class PackageError(Exception):
    """A package cannot be built. The message names the thing, the reason and the next step."""


def version():
    """The version in Cargo.toml, the only place where it is written."""
    return tomllib.loads((ROOT / "Cargo.toml").read_text())["workspace"]["package"]["version"]


def python_version(version):
    """The version in the form that Python packages use: `0.2.0-beta.1` becomes `0.2.0b1`."""
    found = re.fullmatch(r"(\d+\.\d+\.\d+)(?:-(alpha|beta|rc)\.(\d+))?", version)
    if not found:
        raise PackageError(f"the version `{version}` has no form for Python; use `1.2.3` or `1.2.3-beta.1`.")
    release, stage, number = found.groups()
    return release + ({"alpha": "a", "beta": "b", "rc": "rc"}[stage] + number if stage else "")


def source_time():
    """The time that all packaged files get: SOURCE_DATE_EPOCH, or the time of the commit."""
    if given := os.environ.get("SOURCE_DATE_EPOCH"):
        if not given.isdigit() or int(given) < FIRST_ZIP_TIME:
            raise PackageError(f"SOURCE_DATE_EPOCH is `{given}`; it must be seconds since 1970, from 1980 on")
        return int(given)
    git = subprocess.run(["git", "-C", ROOT, "log", "-1", "--format=%ct"], capture_output=True, text=True)
    if git.returncode == 0:
        return int(git.stdout)
    print("note: no git history; packaged files get the time 1980-01-01. Set SOURCE_DATE_EPOCH.", file=sys.stderr)
    return FIRST_ZIP_TIME


def run(command, **options):
    """Runs a command and returns what it printed. Raises `PackageError` with its messages if it fails."""
    command = [str(part) for part in command]
    try:
        done = subprocess.run(command, capture_output=True, text=True, **options)
    except OSError as error:
        raise PackageError(f"cannot run `{command[0]}`: {error.strerror}") from error
    if done.returncode != 0:
        raise PackageError(f"`{' '.join(command)}` failed with exit code {done.returncode}: {done.stderr.strip()}")
    return done.stdout
