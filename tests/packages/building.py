"""How the packages are built: same bytes for the same contents, complete licence texts, true platform tags."""

import json
import os
import random
import shutil
import struct
import unittest
from pathlib import Path

from clean_home import CleanHome
from settings import ROOT

from pack import archive, debian, files, licences, npm, program, project, rootfs, wheel
from pack.contents import Contents

# Those that the release workflow builds.
PLATFORMS = [program.Platform(system, cpu, ()) for system in ("linux", "darwin") for cpu in ("x86_64", "aarch64")]
LINUX = program.Platform("linux", "x86_64", (2, 34))


def small_contents(file, order):
    """Contents with a small program, collected in a random order."""
    pages = [(f"pegboard-{name}.1", name.encode()) for name in ("add", "call", "up")]
    order.shuffle(pages)
    completions = [(shell, b"complete pegboard") for shell in ("bash", "zsh", "fish")]
    order.shuffle(completions)
    prepared = program.Program(file, LINUX, ())
    return Contents(prepared, "1.2.3", 1_700_000_000, 9, dict(pages), dict(completions), b"licences")


class Building(unittest.TestCase):
    def setUp(self):
        self.home = CleanHome("building")
        self.addCleanup(self.home.remove)

    def r_dist_02_packages_depend_only_on_their_contents(self):
        outputs = []
        for seed in (1, 2):
            out = self.home.folder / f"out{seed}"
            out.mkdir()
            # Another time, mode and mask: none of them may be visible in the packages.
            file = self.home.folder / f"program{seed}"
            shutil.copyfile("/bin/true", file)
            file.chmod(0o700 if seed == 1 else 0o755)
            os.utime(file, (seed * 1000, seed * 1000))
            mask = os.umask(0o022 if seed == 1 else 0o077)
            try:
                contents = small_contents(file, random.Random(seed))
                for package in (archive, npm, wheel, debian, rootfs):
                    package.build(contents, out)
            finally:
                os.umask(mask)
            outputs.append({built.name: built.read_bytes() for built in out.iterdir()})
        self.assertEqual(len(outputs[0]), 6)
        self.assertEqual(outputs[0].keys(), outputs[1].keys())
        for name, content in outputs[0].items():
            self.assertTrue(content == outputs[1][name], f"{name} differs")

    def r_dist_02_a_program_of_another_version_is_not_packaged(self):
        other = self.home.folder / "other"
        other.write_text("#!/bin/sh\necho pegboard 9.9.9\n")
        other.chmod(0o755)
        with self.assertRaisesRegex(project.PackageError, "9.9.9"):
            program.check_version(other)

    def r_dist_02_only_programs_are_packaged(self):
        with self.assertRaisesRegex(project.PackageError, "there is no program"):
            program.prepare(self.home.folder / "absent", self.home.folder)
        (self.home.folder / "text").write_text("text")
        with self.assertRaisesRegex(project.PackageError, "not a program"):
            program.prepare(self.home.folder / "text", self.home.folder)

    def r_dist_02_a_wrong_version_and_an_unknown_package_are_refused(self):
        for options, message in ((["--version", "9.9.9"], "9.9.9"), (["--only", "rpm"], "rpm")):
            built = ["--program", os.environ["PEGBOARD_PROGRAM"], "--out", self.home.folder / "out"]
            done = self.home.run([ROOT / "scripts/package", *built, *options], check=False, env=dict(os.environ))
            self.assertEqual(done.returncode, 1)
            self.assertIn(message, done.stderr)
            self.assertNotIn("Traceback", done.stderr)

    def r_dist_02_a_folder_that_cannot_be_written_is_an_error_in_one_line(self):
        blocked = self.home.folder / "file"
        blocked.write_text("")
        command = [ROOT / "scripts/package", "--program", os.environ["PEGBOARD_PROGRAM"], "--out", blocked]
        done = self.home.run(command, check=False, env=dict(os.environ))
        self.assertEqual(done.returncode, 1)
        self.assertEqual(len(done.stderr.splitlines()), 1, done.stderr)

    def r_dist_02_the_c_library_is_compared_by_number(self):
        text = "Name: GLIBC_2.4  Name: GLIBC_2.34  Name: GLIBC_2.9  Name: GCC_3.0"
        self.assertEqual(program.newest_version(text, "GLIBC"), (2, 34))
        self.assertEqual(LINUX.wheel_tag, "manylinux_2_34_x86_64")

    def r_dist_02_libraries_that_not_every_system_has_are_refused(self):
        for library, usual in (("libc.so.6", True), ("ld-linux-x86-64.so.2", True), ("libssl.so.3", False)):
            self.assertEqual(bool(program.SYSTEM_LIBRARIES.fullmatch(library)), usual, library)

    def r_dist_02_the_platform_of_a_macos_program_is_read_from_its_load_commands(self):
        for cpu, version, tag in (
            (0x0100000C, (11, 0), "macosx_11_0_arm64"),
            (0x0100000C, (11, 3), "macosx_12_0_arm64"),
            (0x01000007, (10, 12), "macosx_10_12_x86_64"),
        ):
            header = struct.pack("<8I", 0xFEEDFACF, cpu, 0, 2, 2, 0, 0, 0)
            other = struct.pack("<4I", 0x1B, 16, 0, 0)
            build = struct.pack("<6I", 0x32, 24, 1, version[0] << 16 | version[1] << 8, 0, 0)
            file = self.home.folder / "mach"
            file.write_bytes(header + other + build)
            self.assertEqual(program.examine_mach(file).wheel_tag, tag)

    def r_dist_02_versions_of_other_packagers(self):
        for version, python in (("1.2.3", "1.2.3"), ("1.2.3-beta.4", "1.2.3b4"), ("1.2.3-rc.1", "1.2.3rc1")):
            self.assertEqual(project.python_version(version), python)
        with self.assertRaises(project.PackageError):
            project.python_version("1.2.3-nightly")


class Licences(unittest.TestCase):
    def setUp(self):
        self.home = CleanHome("licences")
        self.addCleanup(self.home.remove)

    def crate(self, licence, **texts):
        for name, text in texts.items():
            (self.home.folder / name).write_text(text)
        manifest = str(self.home.folder / "Cargo.toml")
        return {"name": "demo", "version": "1.0.0", "license": licence, "license_file": None, "manifest_path": manifest}

    def r_dist_02_a_crate_without_a_licence_text_is_refused(self):
        with self.assertRaisesRegex(project.PackageError, "demo 1.0.0 .MIT. publishes no licence text"):
            licences.crate_texts(self.crate("MIT"), {})

    def r_dist_02_there_are_licence_texts_for_every_platform_and_no_superfluous_ones(self):
        table = licences.without_text()["crates"]
        used = set()
        for platform in PLATFORMS:
            for crate in licences.linked_crates(platform.target):
                licences.crate_texts(crate, table)
                if not licences.licence_files(crate):
                    used.add(crate["name"])
        self.assertEqual(set(table), used)

    def r_dist_02_the_table_of_licences_is_compared_with_the_crate(self):
        entry = {"demo": {"licence": "MIT", "holder": "the authors of demo"}}
        self.assertIn("Copyright (c) the authors of demo", licences.crate_texts(self.crate("Apache-2.0 OR MIT"), entry)[0])
        with self.assertRaisesRegex(project.PackageError, "says Apache-2.0"):
            licences.crate_texts(self.crate("Apache-2.0"), entry)

    def r_dist_02_all_texts_of_a_crate_are_copied(self):
        crate = self.crate("MIT", **{"LICENSE-MIT": "mit\r\n", "NOTICE": "notice", "license.rs": "code"})
        self.assertEqual(licences.crate_texts(crate, {}), ["mit\n", "notice\n"])

    def r_dist_02_the_npm_package_contains_what_its_manifest_refers_to(self):
        manifest = json.loads((ROOT / "packaging/npm/package.json").read_text())
        with self.assertRaisesRegex(project.PackageError, "refers to `bin/pegboard.js`"):
            npm.check_targets(manifest, {"package.json": files.Entry(b"")})
        self.assertEqual(manifest["version"], "0.0.0", "the version is written only in Cargo.toml")
        self.assertTrue(Path(ROOT / "packaging/npm" / manifest["bin"]["pegboard"]).is_file())
