"""The wheel for PyPI. It is built by the build backend of packaging/python."""

import importlib.util

from . import project


def build(contents, out):
    """Writes the wheel into the folder `out` and returns its path."""
    spec = importlib.util.spec_from_file_location("backend", project.ROOT / "packaging/python/wheel.py")
    backend = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(backend)
    return [backend.write_wheel(contents, out)]
