"""``python -m tests.deploy.prove``: deploys what is built to an emulated AWS, and tries all of it.

A line for each step with its time. Ends with 1 at the first step that does not hold.
What only a real account can show is in docs/deploy.md.
"""

from __future__ import annotations

import json
import os
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from typing import Any

import httpx2
from botocore.exceptions import ClientError

from context_search.postgres.connection import Connection
from context_search.postgres.url import DatabaseUrl
from local.cloudformation import read
from local.deployed import BUILT, ROLE, STACK, EmulatedAccount, built_for_host
from local.options import ROOT
from local.state import StackError, State
from scripts.smoke import Deployment, SmokeError, require, smoke
from tests.builders import until
from tests.deploy.iam import FUNCTION_ROLES, Use, rights_of, used

FUNCTIONS = ("create_tool", "search", "index_node", "cleanup")
_TEXT = " ".join(
    f"Record {n}: the tide gauge at Esbjerg stood at {n} centimetres." for n in range(120)
)
_UPLOADED = json.dumps({"log": _TEXT}).encode()
_WAIT_S = 150.0


def eventually(ask: Callable[[], Any]) -> Any:
    """The first true answer. Raises AssertionError when none comes."""
    return until(ask, _WAIT_S, every_s=1.0)


@contextmanager
def step(name: str) -> Iterator[None]:
    """Says how long something took, and whether it held."""
    started = time.monotonic()
    outcome = "FAILED"
    try:
        yield
        outcome = "ok"
    finally:
        print(f"{name:58}{outcome:8}{time.monotonic() - started:7.1f} s", flush=True)


class Walk:
    """The steps in their order, over one account."""

    def __init__(self, account: EmulatedAccount) -> None:
        self._account = account
        self._cloudformation = account.client("cloudformation")
        self._operator = {"x-internal-secret": account.internal_secret}
        self._before: set[str] = set()
        self._key: dict[str, str] = {}
        self._table = self._tool = self._project = 0

    def __call__(self) -> None:
        """Every step. Raises SmokeError or StackError."""
        with step("sam deploy"):
            self._deploy()
        self._api = Deployment(self._account.base_url)
        with step("every resource is complete"):
            self._complete("CREATE_COMPLETE")
            self._all_made()
        with step("smoke test over HTTP and MCP"):
            smoke(self._account.base_url, self._account.internal_secret, _indented)
        with step("of the smoke test's project no row stays"):
            eventually(lambda: self._sql("SELECT count(*) FROM project")[0][0] == 0)
        with step("the functions' role is held to row-level security"):
            self._role()
        with step("signed upload, import, search"):
            self._make_table()
            self._upload()
        with step("an upload over plain http is refused"):
            self._plain_upload()
        with step("a queue that is asked over plain http refuses"):
            self._plain_queue()
        with step("a forgotten index is made again by a search"):
            self._forget_index()
        with step("an order of a later release waits"):
            self._later_order()
        with step("dead letters are sent again"):
            self._redrive()
        with step("cleanup, by its schedule, sees what plain SQL has changed"):
            self._cleanup()
        with step("cleanup has compared Postgres with turbopuffer"):
            eventually(
                lambda: self._api.ask("GET", "/internal/integrity", self._operator)["namespaces"]
            )
        with step("logs are where the template says"):
            self._logs(days=30)
        with step("IAM: nothing needed is refused, nothing unused is granted"):
            self._iam()
        with step("other parameters change the stack in place"):
            self._update()
        with step("a failing update takes everything back"):
            self._fail()
        with step("sam delete leaves nothing"):
            self._delete()

    # ---------------------------------------------------------------- the stack

    def _deploy(self) -> None:
        self._before = self._inventory()
        _succeeded(self._account.deploy())

    def _resources(self) -> dict[str, dict[str, Any]]:
        pages = self._cloudformation.get_paginator("list_stack_resources")
        return {
            each["LogicalResourceId"]: each
            for page in pages.paginate(StackName=STACK)
            for each in page["StackResourceSummaries"]
        }

    def _complete(self, wanted: str) -> None:
        [stack] = self._cloudformation.describe_stacks(StackName=STACK)["Stacks"]
        require(stack["StackStatus"] == wanted, f"the stack is {stack['StackStatus']}")
        resources = self._resources()
        odd = {
            name: each["ResourceStatus"]
            for name, each in resources.items()
            if not each["ResourceStatus"].endswith("_COMPLETE")
        }
        require(not odd, f"not complete: {odd}")

    def _all_made(self) -> None:
        resources = self._resources()
        written = set(read(BUILT / "template.yaml")["Resources"]) - {"KeyPolicy", "TracePolicy"}
        missing = {name for name in written if not any(made.startswith(name) for made in resources)}
        require(not missing, f"not made: {missing}")
        _indented(f"{len(resources)} resources")

    def _physical(self, logical_id: str) -> str:
        return str(self._resources()[logical_id]["PhysicalResourceId"])

    def _live(self, function: str) -> dict[str, Any]:
        """The configuration that requests reach."""
        client = self._account.client("lambda")
        name = self._physical(function)
        return dict(client.get_function_configuration(FunctionName=name, Qualifier="live"))

    def _update(self) -> None:
        before = {name: each["PhysicalResourceId"] for name, each in self._resources().items()}
        version = self._live("SearchFunction")["Version"]
        changed = {"IndexConcurrency": "4", "LogRetentionDays": "7", "Dashboard": "false"}
        _succeeded(self._account.deploy(changed))
        self._complete("UPDATE_COMPLETE")
        after = {name: each["PhysicalResourceId"] for name, each in self._resources().items()}
        for name in ("HttpApi", "Queue", "UploadBucket", "SearchFunction", "CreateToolRole"):
            require(after[name] == before[name], f"{name} was replaced")
        require("WatchDashboard" not in after, "the dashboard is still there")
        live = self._live("SearchFunction")
        require(live["Environment"]["Variables"]["INDEX_CONCURRENCY"] == "4", "old variables")
        require(live["Version"] != version, "requests still reach the old version")
        self._logs(days=7)
        self._search("centimetres at Esbjerg")

    def _fail(self) -> None:
        """A template whose last resource cannot be made, with a parameter that was to change."""
        document = read(built_for_host())
        document["Resources"]["Broken"] = {
            "Type": "AWS::CloudWatch::Dashboard",
            "DependsOn": ["SearchFunction", "CreateToolFunction", "IndexNodeFunction", "HttpApi"],
            "Properties": {"DashboardName": "broken", "DashboardBody": ""},
        }
        broken = BUILT / "template-broken.yaml"
        broken.write_text(json.dumps(document), encoding="utf-8")
        changed = {"IndexConcurrency": "6", "LogRetentionDays": "7", "Dashboard": "false"}
        done = self._account.deploy(changed, broken)
        broken.unlink()
        require(done.returncode != 0, "the broken template was deployed")
        self._complete("UPDATE_ROLLBACK_COMPLETE")
        live = self._live("SearchFunction")
        require(
            live["Environment"]["Variables"]["INDEX_CONCURRENCY"] == "4", "not the old variables"
        )
        self._search("centimetres at Esbjerg")

    def _inventory(self) -> set[str]:
        """Names of everything in the account that a stack may leave behind."""
        client = self._account.client
        found = {
            "functions": [
                f["FunctionName"] for f in client("lambda").list_functions()["Functions"]
            ],
            "layers": [e["LayerName"] for e in client("lambda").list_layers()["Layers"]],
            "queues": client("sqs").list_queues().get("QueueUrls", []),
            "buckets": [b["Name"] for b in client("s3").list_buckets()["Buckets"]],
            # MiniStack makes a group anew, without retention, for a run that its deletion overtook;
            # on AWS no role may.
            "logs": [
                group["logGroupName"]
                for group in client("logs").describe_log_groups()["logGroups"]
                if "retentionInDays" in group
            ],
            "roles": [r["RoleName"] for r in client("iam").list_roles()["Roles"]],
            "policies": [
                p["PolicyName"] for p in client("iam").list_policies(Scope="Local")["Policies"]
            ],
            "alarms": [
                a["AlarmName"] for a in client("cloudwatch").describe_alarms()["MetricAlarms"]
            ],
            "dashboards": [
                d["DashboardName"]
                for d in client("cloudwatch").list_dashboards()["DashboardEntries"]
            ],
            "schedules": [s["Name"] for s in client("scheduler").list_schedules()["Schedules"]],
            "apis": [a["ApiId"] for a in client("apigatewayv2").get_apis()["Items"]],
            "mappings": [
                m["UUID"]
                for m in client("lambda").list_event_source_mappings()["EventSourceMappings"]
            ],
        }
        return {f"{kind}: {name}" for kind, names in found.items() for name in names}

    def _delete(self) -> None:
        made = self._inventory() - self._before
        require(len(made) > len(self._before), f"the inventory sees too little: {made}")
        _succeeded(self._account.sam("delete", "--no-prompts"))
        left = {
            name for name in self._inventory() - self._before if "aws-sam-cli-managed" not in name
        }
        require(not left, f"left behind: {sorted(left)}")

    # ---------------------------------------------------------------- the product

    def _ask(self, method: str, path: str, body: object = None, *, expect: int = 200) -> Any:
        return self._api.ask(method, path, self._key, body, expect=expect)

    def _make_table(self) -> None:
        made = self._api.ask(
            "POST", "/api/v1/projects", self._operator, {"name": "prove"}, expect=201
        )
        self._key = {"authorization": f"Bearer {made['api_key']}"}
        self._project = made["id"]
        wish = {"project_id": self._project, "name": "gauges", "data": {}}
        self._table = self._ask("POST", "/api/v1/tables", wish, expect=201)["id"]
        wish = {
            "project_id": self._project,
            "table_id": self._table,
            "name": "search_gauges",
            "search_config": {"chunk_threshold": 2000},
        }
        self._tool = self._ask("POST", "/api/v1/tools/search", wish, expect=201)["tool_id"]

    def _signed(self) -> dict[str, Any]:
        path = f"/api/v1/tables/{self._table}/uploads"
        said = {"format": "json", "size": len(_UPLOADED)}
        return dict(self._ask("POST", path, said, expect=201))

    def _put(self, upload: dict[str, Any], **more: str) -> int:
        headers = {**upload["headers"], **more}
        with httpx2.Client(trust_env=False) as http:
            return http.put(upload["url"], content=_UPLOADED, headers=headers).status_code

    def _upload(self) -> None:
        upload = self._signed()
        require(self._put(upload) == 200, "the upload was refused")
        path = f"/api/v1/tables/{self._table}/uploads/{upload['upload_id']}"
        self._ask("POST", f"{path}/complete", expect=202)
        done = eventually(
            lambda: (state := self._ask("GET", path))["status"] != "importing" and state
        )
        require(done["status"] == "done", f"the import failed: {done}")
        self._search("centimetres at Esbjerg")

    def _plain_upload(self) -> None:
        upload = self._signed()
        status = self._put(upload, **{"X-Forwarded-Proto": "http"})
        require(status == 403, f"answered with {status}")
        # Two days old, so that cleanup has an object to delete.
        age = "UPDATE context_search.upload SET created_at = created_at - interval '2 days'"
        self._sql(f"{age} WHERE id = :id", id=upload["upload_id"])

    def _plain_queue(self) -> None:
        sqs = self._account.client("sqs")

        def in_the_clear(request: Any, **_: object) -> None:
            request.headers["X-Forwarded-Proto"] = "http"

        queues = [self._account.output(name) for name in ("QueueUrl", "DlqUrl")]
        for url in queues:
            sqs.get_queue_attributes(QueueUrl=url)
        sqs.meta.events.register("before-send.sqs", in_the_clear)
        for url in queues:
            try:
                sqs.get_queue_attributes(QueueUrl=url)
            except ClientError as error:
                code = error.response["Error"]["Code"]
                require("AccessDenied" in code, f"{url}: {code}")
            else:
                require(False, f"{url} answers")

    def _sql(self, statement: str, **values: object) -> list[Any]:
        """Rows, as the owner of the tables sees them."""
        url = DatabaseUrl.parse(self._account.database_url)
        with closing(Connection(url, timeout_s=10.0)) as database:
            return list(database.query(statement, values).rows)

    def _role(self) -> None:
        """All connections of the functions are of the role that docs/deploy.md makes."""
        users = {
            str(row[0])
            for row in self._sql(
                "SELECT DISTINCT usename FROM pg_stat_activity"
                " WHERE datname = current_database() AND pid <> pg_backend_pid()"
            )
        }
        require(users == {ROLE}, f"connected are {users}")
        [[is_held]] = self._sql(
            "SELECT NOT rolsuper AND NOT rolbypassrls FROM pg_roles WHERE rolname = :role",
            role=ROLE,
        )
        require(is_held, "the role passes by the policies")

    def _search(self, question: str) -> list[Any]:
        """The results of a search that is answered as asked, once the index is ready."""
        path = f"/api/v1/tools/{self._tool}"
        eventually(lambda: self._ask("GET", f"{path}/search-index")["status"] == "ready")
        answer = eventually(
            lambda: (
                not (found := self._ask("POST", f"{path}/search", {"query": question}))[
                    "retrieval"
                ]["degraded"]
                and found
            )
        )
        require(answer["results"], "nothing found")
        return list(answer["results"])

    def _forget_index(self) -> None:
        self._api.ask("DELETE", f"/internal/tools/{self._tool}/chunks", self._operator)
        path = f"/api/v1/tools/{self._tool}/search"
        answer = self._ask("POST", path, {"query": "tide"})
        require(answer["retrieval"]["degraded"] == ["index_evicted"], f"{answer['retrieval']}")
        self._search("tide gauge")

    def _later_order(self) -> None:
        sqs = self._account.client("sqs")
        later = {"kind": "order_of_a_later_release", "order": 1}
        sqs.send_message(QueueUrl=self._account.output("QueueUrl"), MessageBody=json.dumps(later))
        eventually(lambda: self._seen("IndexNodeRole", "sqs:ChangeMessageVisibility"))

    def _redrive(self) -> None:
        sqs = self._account.client("sqs")
        dead = self._account.output("DlqUrl")
        letter = {"kind": "node", "node_id": 1, "order": 1}
        sqs.send_message(QueueUrl=dead, MessageBody=json.dumps(letter))
        reported = self._api.ask("POST", "/internal/index/redrive", self._operator)
        require(reported["messages"] == 1, f"redriven: {reported}")
        waiting = sqs.get_queue_attributes(
            QueueUrl=dead, AttributeNames=["ApproximateNumberOfMessages"]
        )
        require(waiting["Attributes"]["ApproximateNumberOfMessages"] == "0", "it is still there")

    def _cleanup(self) -> None:
        """What plain SQL has changed waits in the database: nobody but cleanup tells the queue."""
        self._sql(
            "UPDATE context_table SET data = jsonb_build_object('log', data->>'log' || :more)"
            " WHERE id = :id",
            id=self._table,
            more=" The harbour master of Ribe counted ninety seals.",
        )
        eventually(lambda: self._seen("CleanupRole", "sqs:SendMessage"))
        eventually(lambda: "ninety seals" in json.dumps(self._search("harbour master of Ribe")))
        eventually(lambda: self._seen("CleanupRole", "s3:DeleteObject"))

    def _logs(self, days: int) -> None:
        logs = self._account.client("logs")
        for name in FUNCTIONS:
            group = f"/aws/lambda/{STACK}/{name}"
            [found] = logs.describe_log_groups(logGroupNamePrefix=group)["logGroups"]
            require(found.get("retentionInDays") == days, f"{group}: {found}")
            events = logs.filter_log_events(logGroupName=group, limit=50)["events"]
            lines = [event["message"] for event in events if event["message"].startswith("{")]
            require(lines, f"{group} is empty")

    # ---------------------------------------------------------------- permissions

    def _roles(self) -> dict[str, str]:
        return {
            name: each["PhysicalResourceId"]
            for name, each in self._resources().items()
            if each["ResourceType"] == "AWS::IAM::Role"
        }

    def _use(self) -> Use:
        roles = self._roles()
        rights = rights_of(self._account.client("iam"), roles)
        return used(rights, self._account.decisions(), roles)

    def _seen(self, role: str, action: str) -> bool:
        return any(
            right.role == role and right.action == action and times
            for right, times in self._use().times.items()
        )

    def _iam(self) -> None:
        use = self._use()
        for line in use.lines():
            _indented(line)
        # The one refusal that was provoked.
        needed = {(role, action) for role, action, _ in use.refused} - {
            ("CreateToolRole", "s3:PutObject")
        }
        require(not needed, f"refused: {sorted(needed)}")
        require(set(self._roles()) >= set(FUNCTION_ROLES), "roles without names")
        require(not use.unused(), f"granted and not used: {use.unused()}")
        require(not use.needless_exceptions(), f"no exceptions: {use.needless_exceptions()}")


def _succeeded(done: Any) -> None:
    require(done.returncode == 0, f"sam failed:\n{(done.stdout + done.stderr)[-3000:]}")


def _indented(line: str) -> None:
    print(f"    {line}", flush=True)


def main() -> int:
    """Returns 0 when everything held."""
    started = time.monotonic()
    state = State(ROOT / ".local" / "prove-deploy")
    try:
        with EmulatedAccount(state, dict(os.environ)) as account:  # noqa: TID251 - handed on
            Walk(account)()
    except (SmokeError, StackError, AssertionError) as error:
        print(f"prove-deploy: {error}\nlogs: {state.logs}", file=sys.stderr)
        return 1
    print(f"proved in {time.monotonic() - started:.0f} s")
    return 0


if __name__ == "__main__":
    sys.exit(main())
