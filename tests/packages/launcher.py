"""The launcher of the npm package, with a small script in place of the program."""

import json
import platform
import shutil
import signal
import subprocess
import unittest

from clean_home import DEADLINE_SECONDS, CleanHome, wait_for
from settings import ROOT, TEST_ENV

# The system's Node.js, and a newer one that can replace itself by the program.
NODES = {"usual": shutil.which("node"), "newer": str(TEST_ENV / "conformance/node_modules/.bin/node")}
CPU = {"x86_64": "x64", "aarch64": "arm64"}[platform.machine()]


class Launcher(unittest.TestCase):
    def setUp(self):
        self.home = CleanHome("launcher")
        self.addCleanup(self.home.remove)
        modules = self.home.folder / "node_modules"
        shutil.copytree(ROOT / "packaging/npm", modules / "pegboard")
        self.launcher = modules / "pegboard/bin/pegboard.js"
        self.program = modules / f"@pegboard/linux-{CPU}/bin/pegboard"
        self.program.parent.mkdir(parents=True)

    def write_program(self, script, mode=0o755):
        self.program.write_text(f"#!/bin/sh\n{script}\n")
        self.program.chmod(mode)

    def start(self, node, *args):
        command = [NODES[node], self.launcher, *args]
        return subprocess.Popen(command, env=self.home.env, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)

    def each_node(self, check):
        for node in NODES:
            with self.subTest(node=node):
                check(node)

    def r_dist_02_the_launcher_passes_arguments_input_and_exit_code(self):
        self.write_program('for word; do echo "<$word>"; done; cat; exit 42')

        def check(node):
            started = self.start(node, "call", "a b", "", "ü='*'")
            output, _ = started.communicate("input\n", timeout=DEADLINE_SECONDS)
            self.assertEqual(output, "<call>\n<a b>\n<>\n<ü='*'>\ninput\n")
            self.assertEqual(started.returncode, 42)

        self.each_node(check)

    def r_dist_02_the_launcher_passes_signals_to_the_program(self):
        self.write_program("trap 'echo stopped; exit 7' TERM HUP INT\necho $$\nwhile :; do sleep 0.05; done")

        def check(node):
            for name in (signal.SIGTERM, signal.SIGHUP, signal.SIGINT):
                started = self.start(node)
                started.stdout.readline()
                started.send_signal(name)
                output, _ = started.communicate(timeout=DEADLINE_SECONDS)
                self.assertEqual((output, started.returncode), ("stopped\n", 7))
            wait_for(lambda: not self.home.processes(), "the end of the program")

        self.each_node(check)

    def r_dist_02_the_launcher_ends_by_the_signal_that_ended_the_program(self):
        self.write_program("kill -KILL $$")

        def check(node):
            started = self.start(node)
            started.communicate(timeout=DEADLINE_SECONDS)
            self.assertEqual(started.returncode, -signal.SIGKILL)

        self.each_node(check)

    def r_dist_02_a_newer_node_is_replaced_by_the_program(self):
        self.write_program("echo $$; cat > /dev/null")
        started = self.start("newer")
        self.assertEqual(int(started.stdout.readline()), started.pid)
        started.communicate(timeout=DEADLINE_SECONDS)

    def r_dist_02_the_launcher_says_what_is_missing(self):
        def check(node):
            done = self.home.run([NODES[node], self.launcher, "up"], check=False)
            self.assertEqual((done.returncode, done.stdout), (1, ""))
            self.assertIn(f"`@pegboard/linux-{CPU}`", done.stderr)
            self.assertIn("--omit=optional", done.stderr)
            self.assertEqual(len(done.stderr.splitlines()), 1)

        self.each_node(check)

    def r_dist_02_the_launcher_names_the_platforms_if_there_is_no_package_for_this_one(self):
        manifest = self.launcher.parents[1] / "package.json"
        changed = json.loads(manifest.read_text())
        changed["optionalDependencies"] = {"@pegboard/darwin-arm64": "0.0.0"}
        manifest.write_text(json.dumps(changed))
        done = self.home.run([NODES["usual"], self.launcher, "up"], check=False)
        self.assertEqual(done.returncode, 1)
        self.assertIn(f"no package for linux-{CPU}, only for darwin-arm64", done.stderr)

    def r_dist_02_the_launcher_says_that_musl_has_no_package(self):
        # As Node.js reports it there.
        report = self.home.folder / "musl.cjs"
        report.write_text("process.report.getReport = () => ({ header: {} })\n")
        done = self.home.run([NODES["usual"], "--require", report, self.launcher, "up"], check=False)
        self.assertEqual(done.returncode, 1)
        self.assertIn(f"no package for linux-{CPU} with musl", done.stderr)

    def r_dist_02_a_program_that_is_not_executable_is_an_error_in_one_line(self):
        self.write_program("exit 0", mode=0o644)

        def check(node):
            done = self.home.run([NODES[node], self.launcher], check=False)
            self.assertEqual(done.returncode, 1)
            self.assertEqual(len(done.stderr.splitlines()), 1, done.stderr)

        self.each_node(check)
