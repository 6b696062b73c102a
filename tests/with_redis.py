"""Runs a command with a private server, whose unix socket stands for every argument SOCKET; then ends the server.

    with_redis.py COMMAND [ARGUMENT|SOCKET...]
SPDX-License-Identifier: Apache-2.0
"""

import subprocess
import sys

from support import RedisServer


def main() -> int:
    """The command's exit status."""
    if len(sys.argv) < 2:
        raise SystemExit("usage: with_redis.py COMMAND [ARGUMENT|SOCKET...]")
    with RedisServer() as server:
        command = [server.unix_path if word == "SOCKET" else word for word in sys.argv[1:]]
        return subprocess.run(command, check=False).returncode


if __name__ == "__main__":
    sys.exit(main())
