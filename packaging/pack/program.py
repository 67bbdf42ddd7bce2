"""The program that is packaged: its platform, what it needs from the system, and a copy without symbols."""

import os
import re
import shutil
import struct
from dataclasses import dataclass
from pathlib import Path

from . import project
from .project import PackageError

# Libraries that every system with the GNU C library has, as the manylinux policies list them.
SYSTEM_LIBRARIES = re.compile(r"(lib(c|m|dl|pthread|rt|util)\.so\.\d|libgcc_s\.so\.1|ld-linux[\w-]*\.so\.\d)")
# The newest symbol version of libgcc_s that manylinux_2_17 and later have.
NEWEST_LIBGCC = (4, 8, 0)
ELF_MACHINES = {62: "x86_64", 183: "aarch64"}
MACH_CPUS = {0x01000007: "x86_64", 0x0100000C: "aarch64"}


@dataclass(frozen=True)
class Platform:
    """What a program runs on. `needs` is the version of the GNU C library or of macOS that it needs at least."""

    system: str
    cpu: str
    needs: tuple

    @property
    def target(self):
        """The target triple of Rust."""
        return f"{self.cpu}-unknown-linux-gnu" if self.system == "linux" else f"{self.cpu}-apple-darwin"

    @property
    def npm(self):
        """The platform as Node.js names it: `process.platform` and `process.arch`."""
        return self.system, {"x86_64": "x64", "aarch64": "arm64"}[self.cpu]

    @property
    def debian(self):
        """The architecture as Debian names it."""
        return {"x86_64": "amd64", "aarch64": "arm64"}[self.cpu]

    @property
    def wheel_tag(self):
        """The platform tag of a wheel. It is true for what the program needs."""
        major, minor = self.needs[:2]
        if self.system == "linux":
            return f"manylinux_{major}_{minor}_{self.cpu}"
        # Installers know only whole versions of macOS from 11 on.
        if major >= 11 and minor > 0:
            major, minor = major + 1, 0
        return f"macosx_{major}_{minor}_{'arm64' if self.cpu == 'aarch64' else self.cpu}"


@dataclass(frozen=True)
class Program:
    """The stripped program with its platform and the libraries that it loads."""

    file: Path
    platform: Platform
    libraries: tuple


def prepare(source, work):
    """Examines the program `source` and puts a copy without symbols into the folder `work`."""
    if not source.is_file():
        raise PackageError(f"there is no program {source}. Build it with `cargo build`, or name one with --program.")
    header = source.open("rb").read(32)
    copy = work / "pegboard"
    if header.startswith(b"\x7fELF"):
        project.run(["strip", "-o", copy, source])
        platform, libraries = examine_elf(copy)
    elif header[:4] == b"\xcf\xfa\xed\xfe":
        # Not stripped here: that would break the signature that macOS requires.
        shutil.copyfile(source, copy)
        platform, libraries = examine_mach(copy), ()
    else:
        raise PackageError(f"{source} is not a program for Linux or macOS.")
    copy.chmod(0o755)
    check_version(copy)
    return Program(copy, platform, libraries)


def check_version(program):
    """Fails unless the program runs here and has the version of Cargo.toml."""
    printed = project.run([program, "--version"], env={"PATH": os.environ["PATH"]}).split()
    if printed[:2] != ["pegboard", project.version()]:
        raise PackageError(
            f"the program says `{' '.join(printed)}`, but Cargo.toml has version {project.version()}. Build it again."
        )


def examine_elf(file):
    """Reads the platform and the libraries of a Linux program, and fails if it needs more than a usual system has."""
    machine = struct.unpack_from("<H", file.open("rb").read(20), 18)[0]
    if machine not in ELF_MACHINES:
        raise PackageError(f"{file} is for an unknown processor ({machine}).")
    text = project.run(["readelf", "--wide", "--dynamic", "--version-info", file], env=os.environ | {"LC_ALL": "C"})
    libraries = tuple(sorted(re.findall(r"\(NEEDED\).*\[(.+)\]", text)))
    if unusual := [name for name in libraries if not SYSTEM_LIBRARIES.fullmatch(name)]:
        raise PackageError(f"the program needs {', '.join(unusual)}, which not every system has. Link it statically.")
    newest = newest_version(text, "GCC")
    if newest and newest > NEWEST_LIBGCC:
        raise PackageError(f"the program needs symbols of libgcc_s {newest}, newer than {NEWEST_LIBGCC}.")
    glibc = newest_version(text, "GLIBC")
    if not glibc:
        raise PackageError("the program needs no version of the GNU C library; only such programs are packaged.")
    return Platform("linux", ELF_MACHINES[machine], glibc), libraries


def newest_version(text, name):
    """The newest version of the symbols `NAME_1.2.3` that `readelf` lists, or None."""
    found = re.findall(rf"Name: {name}_([\d.]+)", text)
    return max((tuple(map(int, version.split("."))) for version in found), default=None)


def examine_mach(file):
    """Reads the processor and the oldest supported macOS from the load commands of a macOS program."""
    data = file.read_bytes()
    cpu, _, _, commands = struct.unpack_from("<IIII", data, 4)
    if cpu not in MACH_CPUS:
        raise PackageError(f"{file} is for an unknown processor ({cpu:#x}).")
    position = 32
    for _ in range(commands):
        command, size = struct.unpack_from("<II", data, position)
        # LC_BUILD_VERSION has the version after the platform, LC_VERSION_MIN_MACOSX at once.
        if command in (0x32, 0x24):
            packed = struct.unpack_from("<I", data, position + (12 if command == 0x32 else 8))[0]
            return Platform("darwin", MACH_CPUS[cpu], (packed >> 16, packed >> 8 & 0xFF))
        position += size
    raise PackageError(f"{file} does not say which macOS it needs.")
