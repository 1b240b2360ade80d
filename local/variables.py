"""The environments that ``template.yaml`` gives its functions, with parameters to be chosen.

A deployment and the local stack read the same lines, so neither sees a variable, or an empty
value, that the other does not.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Self

from local.cloudformation import Node, read, with_references
from local.template import TemplateError


@dataclass(frozen=True, slots=True)
class Variables:
    """``parameters`` as they are declared; the variables of every function by its logical id."""

    parameters: Mapping[str, Node]
    by_function: Mapping[str, Mapping[str, Any]]

    @classmethod
    def read(cls, path: Path) -> Self:
        """Read a SAM template; a function's variables are added to those of all functions."""
        document = read(path)
        shared = _variables(document.get("Globals", {}).get("Function", {}))
        return cls(
            parameters=document.get("Parameters", {}),
            by_function={
                name: {**shared, **_variables(resource["Properties"])}
                for name, resource in document["Resources"].items()
                if resource["Type"] == "AWS::Serverless::Function"
            },
        )

    def parameters_of(self, values: Mapping[str, str]) -> dict[str, str]:
        """The parameters that give variables these values; what no parameter sets is left out."""
        return {
            variable["Ref"]: values[name]
            for variables in self.by_function.values()
            for name, variable in variables.items()
            if name in values and isinstance(variable, dict) and variable["Ref"] in self.parameters
        }

    def of(self, function: str, references: Mapping[str, str]) -> dict[str, str]:
        """One function's variables.

        ``references`` says what a parameter or a resource stands for; parameters have defaults.
        Raises TemplateError for a variable that is neither text nor a known reference.
        """
        defaults = {
            name: declared["Default"]
            for name, declared in self.parameters.items()
            if "Default" in declared
        }
        resolved = with_references(self.by_function[function], {**defaults, **references})
        for name, value in resolved.items():
            if isinstance(value, dict | list):
                raise TemplateError(f"{function}: {name} is {value!r}, which nothing stands for")
        return {name: str(value) for name, value in resolved.items()}

    def shared(self, references: Mapping[str, str]) -> dict[str, str]:
        """What all functions have in common. Raises TemplateError like ``of``."""
        every = [self.of(function, references).items() for function in self.by_function]
        return dict(set.intersection(*map(set, every)))


def _variables(properties: Node) -> dict[str, Any]:
    variables: dict[str, Any] = properties.get("Environment", {}).get("Variables", {})
    return variables
