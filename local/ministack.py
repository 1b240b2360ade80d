"""``python -m local.ministack``: MiniStack for programs of this machine, not for pages.

By itself it answers to any ``Host``, and lets scripts of every site read what it says
(``Access-Control-Allow-Origin: *``), to purge queues and read uploads among other things.
"""

from __future__ import annotations

from ministack import app as ministack

from local.loopback_only import loopback_only

if __name__ == "__main__":
    ministack.app = loopback_only(ministack.app)  # what its main() serves
    ministack.main()
