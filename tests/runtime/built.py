"""What runs in the jail: the functions as built, with the template's layers and variables."""

from __future__ import annotations

import filecmp
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from local.cloudformation import load
from local.lambda_jail import BuiltFunction, Jail, LambdaEnvironment, merged
from local.options import ROOT
from local.template import FunctionSpec, read_template
from local.variables import Variables
from scripts.prove_layers import BUILT, HOST
from testing.in_memory.embedder import WordEmbedder
from tests.functions.deployment import DIMENSIONS, Deployment
from tests.integrations.openai_server import OpenAiServer
from tests.integrations.scripted_embeddings import item

TEMPLATE = ROOT / "template.yaml"
_BARE = ROOT / "tests" / "runtime" / "bare"
BARE = BuiltFunction("bare", task=_BARE, opt=_BARE, memory_mb=128)


class WordServer(OpenAiServer):
    """OpenAI's route; texts that share words are similar."""

    def reply(self, body: dict[str, Any]) -> dict[str, Any]:
        if self.status != 200:
            return super().reply(body)
        vectors = WordEmbedder(DIMENSIONS).embed_passages(body["input"], timeout_s=1)
        data = [item(index, vector) for index, vector in enumerate(vectors)]
        return {"object": "list", "data": data, "model": body["model"]}


def is_as_written() -> bool:
    """Whether the build holds the code of this folder."""
    for built, source in (
        (BUILT / "SharedLayer" / "python", ROOT / "shared"),
        *((BUILT / spec.name, spec.code) for spec in read_template(TEMPLATE).functions),
    ):
        names = [str(path.relative_to(source)) for path in source.rglob("*.py")]
        _, other, missing = filecmp.cmpfiles(built, source, names, shallow=False)
        if other or missing:
            return False
    return (HOST / "runtime" / "awslambdaric").is_dir()


def built_functions(arm64: Path | None = None) -> dict[str, BuiltFunction]:
    """By the name of their folder; dependencies have this machine's wheels.

    With ``arm64``, a folder for what they see in ``/opt``, they are the ones that are shipped.
    """
    document = load(TEMPLATE)
    shared = document["Globals"]["Function"]["Layers"]

    def built(spec: FunctionSpec) -> BuiltFunction:
        own = document["Resources"][spec.name]["Properties"].get("Layers", [])
        shipped = [BUILT / layer["Ref"] for layer in [*shared, *own]]
        of_host = {"CoreLayer": HOST / "core", "EmbeddingLayer": HOST / "embedding"}
        folders = [each if arm64 else of_host.get(each.name, each) for each in shipped]
        opt = merged(folders, (arm64 or HOST) / f"opt-{spec.name}")
        return BuiltFunction(
            spec.name, BUILT / spec.name, opt, spec.memory_mb, spec.timeout_s, spec.handler
        )

    return {spec.code.name: built(spec) for spec in read_template(TEMPLATE).functions}


@dataclass(frozen=True)
class BuiltFunctions:
    """Functions in one jail; ``references`` is what the template's names stand for."""

    jail: Jail
    functions: Mapping[str, BuiltFunction]
    references: Mapping[str, str]
    aws: Mapping[str, str]
    logs: Path
    _variables: Variables = field(default_factory=lambda: Variables.read(TEMPLATE))

    @contextmanager
    def cold(self, name: str, **more: str) -> Iterator[LambdaEnvironment]:
        """A new environment of a function; ``more`` is for variables that Lambda gives."""
        function = self.functions.get(name, BARE)
        variables: dict[str, str] = {}
        if function is not BARE:
            variables = self._variables.of(function.name, self.references)
        log = self.logs / f"{name}-{len(list(self.logs.iterdir()))}.log"
        with self.jail.running(function, {**self.aws, **variables, **more}, log) as environment:
            yield environment


def asked(deployed: Deployment, tool: dict[str, Any], query: str) -> dict[str, Any]:
    """What search answers to a question, its status too."""
    path = f"/api/v1/tools/{tool['tool_id']}/search"
    return deployed.http("POST", path, {"query": query}, key=tool["key"], function="search")


def ask(deployed: Deployment, tool: dict[str, Any], query: str) -> dict[str, Any]:
    """The answer of search to a question."""
    answer = asked(deployed, tool, query)
    assert answer["statusCode"] == 200, answer
    found: dict[str, Any] = answer["json"]
    return found
