"""Builds the packages of Pegboard. `scripts/package` is the command.

`project` reads the version and the time of the commit, `program` examines and strips the program, `contents` collects
what belongs to it (licences, man pages, completions). Each package has a module of its own: `archive`, `npm`, `wheel`,
`debian`, `rootfs`. `files` writes archives whose bytes depend only on their contents.
"""
