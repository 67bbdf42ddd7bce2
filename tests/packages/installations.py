"""Every package is installed into a clean home and runs `--version`, `add`, `tools`, `call` and `up` there."""

import json
import os
import subprocess
import sys
import tarfile
import unittest
from pathlib import Path

from clean_home import CleanHome, check_commands, check_stdio, check_up
from settings import ROOT, TEST_ENV, VERSION, needs_root, package


class Installations(unittest.TestCase):
    def setUp(self):
        self.home = CleanHome("package")
        self.addCleanup(self.home.remove)

    def check(self, pegboard, program):
        """Checks an installation. `pegboard` is the command as a user types it."""
        check_commands(self.home, pegboard, program, VERSION)
        return check_up(self.home, [*pegboard, "up", "--json", "--port", "0"], pegboard)

    def check_documents(self, prefix, suffix=""):
        """Checks that man pages and completions are where the system looks for them."""
        pages = {page.name for page in (prefix / "share/man/man1").iterdir()}
        self.assertLessEqual({f"pegboard.1{suffix}", f"pegboard-add.1{suffix}"}, pages)
        script = prefix / "share/bash-completion/completions/pegboard"
        complete = f"source '{script}' && complete -p pegboard"
        self.assertIn("pegboard", self.home.run(["bash", "--norc", "-c", complete]).stdout)
        self.assertTrue((prefix / "share/fish/vendor_completions.d/pegboard.fish").is_file())

    def r_dist_02_the_archive_runs_from_a_prefix(self):
        prefix = self.home.folder / "prefix"
        prefix.mkdir()
        self.home.run(["tar", "-xzf", package("pegboard-*-gnu.tar.gz"), "--strip-components=1", "-C", prefix])
        program = prefix / "bin/pegboard"
        self.assertEqual(self.check([program], program), 0)
        self.check_documents(prefix)
        self.assertTrue((prefix / "share/zsh/site-functions/_pegboard").is_file())

    def r_dist_03_installed_completions_complete_servers_and_tools(self):
        self.home.run(["tar", "-xzf", package("pegboard-*-gnu.tar.gz"), "--strip-components=1"])
        self.home.env["PATH"] = f"{self.home.folder / 'bin'}:{self.home.env['PATH']}"
        self.home.run(["pegboard", "add", "example", "--", self.home.folder / "bin/pegboard", "example-server"])
        for words, expected in ((["show", "exa"], "example"), (["call", "example__add"], "example__add_numbers")):
            self.assertIn(expected, self.completed(words).split())

    def completed(self, words):
        """What Bash offers for the last word after `pegboard`, with the installed completions."""
        script = self.home.folder / "share/bash-completion/completions/pegboard"
        complete = """
            source "$1"; shift
            COMP_WORDS=(pegboard "$@") COMP_CWORD=$# COMP_TYPE=9
            function=$(complete -p pegboard | sed 's/.* -F \\([^ ]*\\).*/\\1/')
            "$function" pegboard "${COMP_WORDS[-1]}" "${COMP_WORDS[-2]}" && printf '%s\\n' "${COMPREPLY[@]}"
        """
        return self.home.run(["bash", "--norc", "-c", complete, "bash", script, *words]).stdout

    def r_dist_02_npx_runs_the_npm_package(self):
        packages = [package("pegboard-npm-[0-9]*.tgz"), package("pegboard-npm-linux-*.tgz")]
        self.home.run(["npm", "install", "--offline", "--ignore-scripts", "--no-audit", "--no-fund", *packages])
        program = next((self.home.folder / "node_modules/@pegboard").glob("linux-*/bin/pegboard"))
        # npx starts a shell that starts Node.js; npm itself ends with an error after a signal.
        self.check(["npx", "--offline", "pegboard"], program)
        check_stdio(self.home, ["npx", "--offline", "pegboard"])
        self.home.run(["node", "--input-type=module", "--eval", "await import('pegboard')"])

    def r_dist_02_pip_installs_the_wheel(self):
        python = self.home.folder / "python"
        self.home.run([sys.executable, "-m", "venv", python])
        self.home.run([python / "bin/pip", "install", "--no-index", "--disable-pip-version-check", package("*.whl")])
        program = python / "bin/pegboard"
        self.assertEqual(self.check([program], program), 0)
        self.home.run([python / "bin/python", "-c", "import pegboard"])
        self.home.run([python / "bin/pip", "uninstall", "--yes", "--quiet", "pegboard"])
        self.assertFalse(program.exists())

    def r_dist_02_uvx_runs_the_wheel(self):
        cache = self.home.folder / "cache"
        self.home.env |= {"UV_CACHE_DIR": str(cache), "UV_PYTHON_DOWNLOADS": "never", "UV_OFFLINE": "1"}
        uvx = [TEST_ENV / "uv/bin/uvx", "--no-config", "--python", sys.executable, "--from", package("*.whl"), "pegboard"]
        self.home.run([*uvx, "--version"])
        program = next(file for file in cache.rglob("bin/pegboard") if os.access(file, os.X_OK))
        self.assertEqual(self.check(uvx, program), 0)
        check_stdio(self.home, uvx)

    @needs_root
    def r_dist_02_dpkg_installs_the_debian_package(self):
        system = self.home.folder / "system"
        self.install_debian_package(system)
        program = system / "usr/bin/pegboard"
        self.assertEqual(self.check([program], program), 0)
        self.check_documents(system / "usr", ".gz")
        self.assertTrue((system / "usr/share/zsh/vendor-completions/_pegboard").is_file())
        self.assertTrue((system / "usr/share/doc/pegboard/copyright").is_file())

    def install_debian_package(self, system):
        """Installs the Debian package into the folder `system`, as in a system that has only what it depends on."""
        database = system / "var/lib/dpkg"
        for folder in ("info", "updates", "triggers"):
            (database / folder).mkdir(parents=True)
        (database / "status").write_text(self.home.run(["dpkg-query", "--status", "libc6", "libgcc-s1"]).stdout)
        self.home.run(["dpkg", f"--root={system}", "--log=/dev/null", "--install", package("*.deb")])
        state = self.home.run(["dpkg-query", f"--admindir={database}", "-W", "-f=${Status} ${Version}", "pegboard"])
        self.assertEqual(state.stdout, f"install ok installed {VERSION}")


class OldSystem(unittest.TestCase):
    def r_dist_02_the_wheel_and_the_debian_package_name_the_c_library_that_the_program_needs(self):
        home = CleanHome("symbols")
        self.addCleanup(home.remove)
        home.run(["tar", "-xzf", package("pegboard-*-gnu.tar.gz"), "--strip-components=1"])
        # The dynamic symbols themselves, not the table that scripts/package reads.
        symbols = home.run(["objdump", "-T", home.folder / "bin/pegboard"]).stdout
        versions = {word.strip("()").removeprefix("GLIBC_") for word in symbols.split() if "GLIBC_2" in word}
        newest = max(versions, key=lambda version: [int(part) for part in version.split(".")])
        self.assertIn(f"manylinux_{newest.replace('.', '_')}_", package("*.whl").name)
        depends = home.run(["dpkg-deb", "--field", package("*.deb"), "Depends"]).stdout
        self.assertIn(f"libc6 (>= {newest})", depends)


class Publication(unittest.TestCase):
    def r_dist_02_the_npm_packages_run_nothing_at_install_time(self):
        for name in ("pegboard-npm-[0-9]*.tgz", "pegboard-npm-linux-*.tgz"):
            with tarfile.open(package(name)) as archive:
                manifest = json.load(archive.extractfile("package/package.json"))
            self.assertEqual(manifest["version"], VERSION)
            self.assertEqual(set(manifest.get("optionalDependencies", {}).values()) - {VERSION}, set())
            for member in ("scripts", "dependencies", "gypfile"):
                self.assertNotIn(member, manifest)

    def r_dist_02_the_checksums_match(self):
        folder = package("SHA256SUMS").parent
        subprocess.run(["sha256sum", "--check", "--strict", "--quiet", "SHA256SUMS"], cwd=folder, check=True)
        listed = {line.split()[1] for line in package("SHA256SUMS").read_text().splitlines()}
        self.assertEqual(listed, {file.name for file in folder.iterdir()} - {"SHA256SUMS"})

    def r_dist_02_every_package_contains_the_licence_texts(self):
        texts = {}
        for name in ("pegboard-*-gnu.tar.gz", "pegboard-npm-linux-*.tgz", "*-rootfs.tar.gz"):
            with tarfile.open(package(name)) as archive:
                for member in archive.getnames():
                    if member.endswith("THIRD-PARTY-LICENSES.txt"):
                        texts[name] = archive.extractfile(member).read().decode()
        self.assertEqual(len(texts), 3)
        for text in texts.values():
            for part in ("serde 1.", "tokio 1.", "SQLite", "Apache License", "all-MiniLM-L6-v2"):
                self.assertIn(part, text)

    def r_dist_02_the_release_workflow_uses_this_script(self):
        workflow = (ROOT / ".github/workflows/release.yml").read_text()
        self.assertIn("scripts/package --dist", workflow)
