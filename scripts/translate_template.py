"""Prints template.yaml as the plain CloudFormation that SAM makes of it, without asking AWS.

    .venv-build/bin/python -m scripts.translate_template [TEMPLATE]

``sam validate --lint`` looks at the SAM template only and misses what the translation shows (a
visibility timeout under the function's, a wrong response type); cfn-lint and tests read this.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

from boto3 import Session
from samtranslator.parser.parser import Parser
from samtranslator.translator.translator import Translator
from samtranslator.yaml_helper import yaml_parse

CODE = {"AWS::Serverless::Function": "CodeUri", "AWS::Serverless::LayerVersion": "ContentUri"}


def translate(template: Path) -> dict[str, Any]:
    """The CloudFormation document. Local code paths become ``s3://`` ones, as packaging does."""
    document: dict[str, Any] = yaml_parse(template.read_text())
    for name, resource in document["Resources"].items():
        if code := CODE.get(resource["Type"]):
            resource["Properties"][code] = f"s3://bucket/{name}"
    session = Session(region_name="eu-central-1")  # only chooses the ARNs' partition
    translator = Translator({}, Parser(), boto_session=session)
    translated: dict[str, Any] = translator.translate(document, parameter_values={})
    return translated


if __name__ == "__main__":
    path = Path(sys.argv[1] if len(sys.argv) > 1 else "template.yaml")
    print(json.dumps(translate(path), indent=1))
