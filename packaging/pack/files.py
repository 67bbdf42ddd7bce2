"""Sets of files and archives of them. The bytes of an archive depend only on its contents and the given time."""

import gzip
import hashlib
import io
import tarfile
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True)
class Entry:
    """A file with its contents (bytes, or the path of a file), or a directory if `content` is None."""

    content: "bytes | Path | None"
    mode: int = 0o644
    owner: int = 0

    def read(self):
        """The contents of the file."""
        return self.content.read_bytes() if isinstance(self.content, Path) else self.content


def directory(mode=0o755, owner=0):
    """A directory entry."""
    return Entry(None, mode, owner)


def sources(folder):
    """All source files below a folder, without caches and hidden files."""
    def is_source(file):
        return not any(part.startswith(".") or part == "__pycache__" for part in file.relative_to(folder).parts)

    return sorted(file for file in folder.rglob("*") if file.is_file() and is_source(file))


def write_folder(folder, entries):
    """Writes the entries below `folder`. Owners are not set."""
    folder.mkdir()
    folder.chmod(0o755)
    for path, entry in sorted(entries.items()):
        target = folder / path
        if entry.content is None:
            target.mkdir(parents=True, exist_ok=True)
        else:
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_bytes(entry.read())
        target.chmod(entry.mode)


def write_tar_gz(target, entries, time, level, prefix="", directories=True):
    """Writes a compressed tar archive: sorted entries, numeric owners, one time. Without `directories` it contains
    only files."""
    with open(target, "wb") as raw:
        # No file name and a fixed time in the header.
        with gzip.GzipFile(filename="", mode="wb", fileobj=raw, compresslevel=level, mtime=time) as zipped:
            with tarfile.open(fileobj=zipped, mode="w", format=tarfile.USTAR_FORMAT) as tar:
                for path, entry in sorted(with_parents(entries, prefix).items()):
                    if directories or entry.content is not None:
                        add_to_tar(tar, path, entry, time)


def add_to_tar(tar, path, entry, time):
    """Adds one entry to an open tar archive."""
    info = tarfile.TarInfo(path)
    info.mode, info.mtime, info.uid, info.gid = entry.mode, time, entry.owner, entry.owner
    if entry.content is None:
        info.type = tarfile.DIRTYPE
        tar.addfile(info)
    else:
        content = entry.read()
        info.size = len(content)
        tar.addfile(info, io.BytesIO(content))


def with_parents(entries, prefix=""):
    """The entries below `prefix`, with all directories that lead to them."""
    complete = {}
    for path, entry in entries.items():
        whole = Path(prefix) / path
        for parent in list(whole.parents)[:-1]:
            complete.setdefault(str(parent), directory())
        complete[str(whole)] = entry
    # A directory that was given with its own mode or owner takes precedence over one that was added.
    complete.update({str(Path(prefix) / path): entry for path, entry in entries.items()})
    return complete


def gzipped(content):
    """The contents compressed, without a name or time in the header."""
    return gzip.compress(content, compresslevel=9, mtime=0)


def write_checksums(folder, files):
    """Writes SHA256SUMS for the files, as `sha256sum --check` reads it, and returns its path."""
    lines = [f"{hashlib.sha256(file.read_bytes()).hexdigest()}  {file.name}\n" for file in sorted(files)]
    target = folder / "SHA256SUMS"
    target.write_text("".join(lines))
    return target
