"""The container image: the Dockerfile adds nothing to the root filesystem, which runs as the image would.

There is no Docker in these tests. The root filesystem is run with the user, environment and command of the Dockerfile,
as process 1 of its own process namespace, as a container runtime does."""

import json
import re
import shlex
import subprocess
import tarfile
import unittest

from clean_home import CleanHome, check_commands, check_up, pids
from settings import ROOT, VERSION, needs_root, package

from pack import rootfs


# What container runtimes set if the image sets no PATH.
RUNTIME_PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"


class Image:
    """The last stage of the Dockerfile."""

    def __init__(self):
        text = (ROOT / "packaging/container/Dockerfile").read_text()
        text = re.sub(r"(?m)^#.*\n", "", text).replace("\\\n", " ")
        lines = [line.split(maxsplit=1) for line in text.splitlines() if line.strip()]
        self.stages = []
        for word, rest in lines:
            if word == "FROM":
                self.stages.append([])
            self.stages[-1].append((word, rest))
        self.last = self.stages[-1]

    def all(self, word):
        """The arguments of every instruction of the last stage with this name."""
        return [rest for name, rest in self.last if name == word]

    def one(self, word):
        """The argument of the only instruction with this name."""
        (rest,) = self.all(word)
        return rest

    def environment(self):
        """The variables of the image, without those that every runtime sets."""
        return dict(rest.split("=", 1) for rest in self.all("ENV"))


class Container(unittest.TestCase):
    def setUp(self):
        self.image = Image()
        with tarfile.open(package("*-rootfs.tar.gz")) as archive:
            self.members = {member.name: member for member in archive.getmembers()}

    def r_dist_02_the_image_is_the_root_filesystem_and_nothing_else(self):
        build = " && ".join(rest for word, rest in self.image.stages[0] if word == "RUN")
        self.assertIn("scripts/package --dist --only rootfs --out /out", build)
        self.assertIn("tar -xzf /out/*-rootfs.tar.gz -C /rootfs", build)
        self.assertEqual(self.image.one("FROM"), "scratch")
        self.assertEqual(self.image.one("COPY"), "--from=build /rootfs/ /")
        self.assertEqual(self.image.all("ADD") + self.image.all("RUN"), [])

    def r_dist_02_the_image_runs_an_installed_program_as_a_user_that_owns_its_folder(self):
        user, group = self.image.one("USER").split(":")
        self.assertEqual((user, group), (str(rootfs.USER), str(rootfs.USER)))
        (program,) = json.loads(self.image.one("ENTRYPOINT"))
        self.assertEqual(self.members[program.lstrip("/")].mode, 0o755)
        volume = self.image.one("VOLUME")
        owned = self.members[volume.lstrip("/")]
        self.assertEqual((owned.uid, owned.gid, owned.mode), (rootfs.USER, rootfs.USER, 0o700))
        for name, value in self.image.environment().items():
            self.assertTrue(value == volume or value.startswith(f"{volume}/"), name)
        others = [member for member in self.members.values() if member.uid != 0 and member is not owned]
        self.assertEqual(others, [])
        self.assertFalse([member.name for member in self.members.values() if member.mode & 0o6000])

    @needs_root
    def r_dist_02_the_root_filesystem_runs_like_the_image(self):
        if subprocess.run(["unshare", "--mount", "--pid", "--fork", "true"], capture_output=True).returncode:
            self.skipTest("namespaces are not permitted here")
        home = CleanHome("rootfs")
        self.addCleanup(home.remove)
        system = home.folder / "system"
        system.mkdir()
        home.run(["tar", "-xzf", package("*-rootfs.tar.gz"), "-C", system, "--numeric-owner"])
        (program,) = json.loads(self.image.one("ENTRYPOINT"))
        pegboard = self.command(system, program)
        check_commands(home, pegboard, program, VERSION)
        serve, listen, address = json.loads(self.image.one("CMD"))
        self.assertEqual((serve, listen, address), ("serve", "--listen", f"0.0.0.0:{self.image.one('EXPOSE')}"))
        # The same with a free port.
        served = [*pegboard, serve, listen, "0.0.0.0:0", "--json"]
        self.assertEqual(check_up(home, served, pegboard, lambda: first_process(home)), 0)

    def command(self, system, program):
        """The command that runs the program in the root filesystem, with the folders that a runtime mounts."""
        variables = {"PATH": RUNTIME_PATH} | self.image.environment()
        environment = shlex.join(f"{name}={value}" for name, value in variables.items())
        folder, start = shlex.quote(str(system)), shlex.quote(program)
        mounts = f"mount -t proc proc {folder}/proc && mount --rbind /dev {folder}/dev"
        inside = f"exec env -i {environment} chroot --userspec={self.image.one('USER')} {folder} {start} \"$@\""
        namespaces = ["unshare", "--mount", "--pid", "--fork", "--kill-child"]
        return [*namespaces, "bash", "-c", f"{mounts} && {inside}", "pegboard"]


def first_process(home):
    """The process that is number 1 in its process namespace."""
    for pid in pids():
        if home.owns(pid):
            with open(f"/proc/{pid}/status") as status:
                numbers = re.search(r"NSpid:\s+(.+)", status.read()).group(1).split()
            if numbers[1:] == ["1"]:
                return pid
    raise AssertionError("no process is number 1 of a namespace")
