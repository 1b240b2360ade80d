"""``python -m local.ministack [ORIGIN...]``: MiniStack for programs of this machine, not for pages.

By itself it answers to any ``Host``, and lets scripts of every site read what it says
(``Access-Control-Allow-Origin: *``), to purge queues and read uploads among other things. Pages
of those origins, the stack's own, may put uploads, as the bucket of the template lets them.
"""

from __future__ import annotations

import sys

from ministack import app as ministack

from local.emulator import UPLOAD_BUCKET
from local.loopback_only import loopback_only

if __name__ == "__main__":
    pages, sys.argv[1:] = sys.argv[1:], []  # it takes arguments of its own
    ministack.app = loopback_only(  # what its main() serves
        ministack.app, pages=pages, uploads=f"/{UPLOAD_BUCKET}/"
    )
    ministack.main()
