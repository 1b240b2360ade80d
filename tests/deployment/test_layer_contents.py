"""What is packed into the dependency layers, before anything is downloaded."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
import Stemmer

from scripts.elf import machine, stripped
from scripts.layer_contents import PackagingError, pins, prune, read_prune_list, wanted
from scripts.prove_layers import ProofError, check_sizes, difference

HASH = "    --hash=sha256:" + "0" * 64


def layer(layers: Path, name: str, locked: list[str], prune_list: str = "") -> None:
    """Writes a layer folder."""
    (layers / name).mkdir(parents=True)
    (layers / name / "requirements.txt").write_text(
        "".join(f"{pin} \\\n{HASH} \\\n{HASH}\n" for pin in locked)
    )
    (layers / name / "prune.txt").write_text(prune_list)


def test_the_embedding_layer_repeats_nothing_of_the_core_layer() -> None:
    assert not wanted("core").keys() & wanted("embedding").keys()


def test_together_the_layers_hold_every_pin_that_is_not_pruned() -> None:
    pruned = read_prune_list("embedding").distributions | read_prune_list("core").distributions
    pinned = pins("core").keys() | pins("embedding").keys()
    assert wanted("core").keys() | wanted("embedding").keys() == pinned - pruned


def test_what_the_runtime_brings_is_not_shipped() -> None:
    shipped = wanted("core").keys() | wanted("embedding").keys()
    assert not shipped & {"boto3", "botocore", "s3transfer"}


def test_a_pin_keeps_all_its_hashes(tmp_path: Path) -> None:
    layer(tmp_path, "core", ["one==1", "two==2"])
    assert pins("core", tmp_path)["two"] == f"two==2 \\\n{HASH} \\\n{HASH}"


def test_two_versions_of_one_distribution_are_refused(tmp_path: Path) -> None:
    layer(tmp_path, "core", ["one==1"])
    layer(tmp_path, "embedding", ["one==2"])
    with pytest.raises(PackagingError, match="one"):
        wanted("embedding", tmp_path)


def test_a_prune_list_that_names_an_unknown_distribution_is_refused(tmp_path: Path) -> None:
    layer(tmp_path, "core", ["one==1"], "distribution gone  # was dropped upstream\n")
    with pytest.raises(PackagingError, match="gone"):
        wanted("core", tmp_path)


def test_a_prune_list_that_cannot_be_read_is_refused(tmp_path: Path) -> None:
    layer(tmp_path, "core", ["one==1"], "paht one/big\n")
    with pytest.raises(PackagingError, match="paht"):
        read_prune_list("core", tmp_path)


def test_pruning_removes_folders_and_files_and_leaves_the_rest(tmp_path: Path) -> None:
    layer(tmp_path, "core", ["one==1"], "path one/pages\npath one/big.bin\n")
    package = tmp_path / "python" / "one"
    (package / "pages").mkdir(parents=True)
    for name in ("pages/a.html", "big.bin", "__init__.py"):
        (package / name).write_text("")
    prune("core", tmp_path / "python", tmp_path)
    assert [path.name for path in package.iterdir()] == ["__init__.py"]


def test_pruning_a_path_that_is_not_there_is_refused(tmp_path: Path) -> None:
    layer(tmp_path, "core", ["one==1"], "path one/pages\n")
    with pytest.raises(PackagingError, match="one/pages"):
        prune("core", tmp_path / "python", tmp_path)


def test_pruning_keeps_what_is_named_below_a_path(tmp_path: Path) -> None:
    layer(tmp_path, "core", ["one==1"], "path one/server\nkeep one/server/errors/names.py\n")
    server = tmp_path / "python" / "one" / "server"
    (server / "errors").mkdir(parents=True)
    (server / "pages").mkdir()
    for name in ("errors/names.py", "errors/other.py", "pages/a.html", "__init__.py"):
        (server / name).write_text("")
    prune("core", tmp_path / "python", tmp_path)
    assert [path for path in server.rglob("*") if path.is_file()] == [server / "errors/names.py"]


def test_keeping_a_path_that_is_not_there_is_refused(tmp_path: Path) -> None:
    layer(tmp_path, "core", ["one==1"], "path one\nkeep one/gone.py\n")
    (tmp_path / "python" / "one").mkdir(parents=True)
    with pytest.raises(PackagingError, match="one/gone"):
        prune("core", tmp_path / "python", tmp_path)


@pytest.mark.slow
def test_a_stripped_module_is_smaller_and_works(tmp_path: Path) -> None:
    whole = Path(Stemmer.__file__)
    small = tmp_path / whole.name
    small.write_bytes(stripped(whole.read_bytes()))
    assert small.stat().st_size < whole.stat().st_size
    assert machine(small.read_bytes()) == machine(whole.read_bytes())
    program = "import Stemmer; print(Stemmer.__file__, Stemmer.Stemmer('english').stemWord('cats'))"
    ran = subprocess.run(  # noqa: S603 - a text of ours
        [sys.executable, "-S", "-c", program],
        env={"PYTHONPATH": str(tmp_path)},
        capture_output=True,
        text=True,
        check=True,
    )
    assert ran.stdout.split() == [str(small), "cat"]


def test_what_is_stripped_stays_as_it_is() -> None:
    small = stripped(Path(Stemmer.__file__).read_bytes())
    assert stripped(small) == small
    assert stripped(b"a text") == b"a text"


def test_what_providers_answer_otherwise_and_miss_is_told() -> None:
    whole = {"outcomes": {"vectors of a/m": "vectors", "vectors of b/m": "Timeout"}, "missing": []}
    other = {"outcomes": {"vectors of a/m": "ImportError: no"}, "missing": ["litellm.a"]}
    assert difference(whole, whole) == []
    assert difference(whole, other) == [
        "litellm.a is looked for",
        "vectors of a/m: ImportError: no, before: vectors",
        "vectors of b/m: None, before: Timeout",
    ]


@pytest.mark.parametrize(
    ("folder", "bytes_of_file"),
    [("CoreLayer", 48_000_000), ("SharedLayer", 7_000_000), ("SearchFunction", 2_000_000)],
)
def test_a_build_whose_part_has_grown_over_its_limit_fails(
    tmp_path: Path, folder: str, bytes_of_file: int
) -> None:
    (tmp_path / folder).mkdir()
    with (tmp_path / folder / "file").open("wb") as file:
        file.truncate(bytes_of_file // 2)
        check_sizes(tmp_path)
        file.truncate(bytes_of_file)
        with pytest.raises(ProofError, match=folder):
            check_sizes(tmp_path)
