"""What `scripts/test-packages` passes on: the folder of the packages and the environment of the tests."""

import os
import sys
import unittest
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
TEST_ENV = Path(os.environ.get("PEGBOARD_TEST_ENV", ROOT / ".test-env"))
PACKAGES = Path(os.environ["PEGBOARD_PACKAGES"])

sys.path.insert(0, str(ROOT / "packaging"))
from pack import project  # noqa: E402

VERSION = project.version()

# `scripts/test-packages` runs these again as root if it can.
needs_root = unittest.skipIf(os.getuid() != 0, "needs root")


def package(pattern):
    """The one file of the packages that matches the pattern."""
    found = sorted(PACKAGES.glob(pattern))
    if len(found) != 1:
        raise AssertionError(f"{pattern} matches {[file.name for file in found]}")
    return found[0]
