"""What no deployed module does, as rules over its syntax tree.

docs/decisions/0018-security-gates.md. Each rule is tried on lines that break it.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Callable, Iterable, Iterator
from functools import cache

import pytest

from tests.architecture.project import parsed, python_files, relative

Rule = Callable[[ast.AST], bool]

_RUNS_SQL = {"run", "execute", "query", "bulk"}
_LOG_METHODS = {"debug", "info", "warning", "error", "critical", "exception", "log"}
_PRIVATE = re.compile(
    r"(^|_)(text|texts|query|question|key|secret|password|token|document|pointer|body|content)$"
)
_SECRET = re.compile(r"(^|[_.])(secret|secrets|password|api_key|key_hash|presented|signature)$")
# Parameters of functions that only their own module calls, each time with a literal. ``due``: the
# literals of repositories.
_PIECES = {"assignments", "condition", "due", "order", "which"}
_CONSTANT = re.compile(r"_?[A-Z][A-Z0-9_]*")


def called(node: ast.AST) -> str:
    """The dotted name of what a call calls, or nothing."""
    return ast.unparse(node.func) if isinstance(node, ast.Call) else ""


def runs_other_code(node: ast.AST) -> bool:
    """eval, exec, pickle, yaml.load, a shell."""
    name = called(node)
    with_shell = isinstance(node, ast.Call) and any(
        word.arg == "shell" and ast.unparse(word.value) != "False" for word in node.keywords
    )
    loads = name in {"eval", "exec", "compile", "os.system", "os.popen", "marshal.loads"}
    unpickles = name.startswith(("pickle.", "shelve.", "dill."))
    return loads or unpickles or with_shell or name in {"yaml.load", "yaml.unsafe_load"}


def puts_values_into_sql(node: ast.AST) -> bool:
    """SQL from an f-string with anything but constants and integers, or from % and format."""
    name = called(node).rsplit(".", 1)[-1].lstrip("_")
    if not isinstance(node, ast.Call) or name not in _RUNS_SQL:
        return False
    return any(is_put_together(argument) for argument in node.args)


def is_put_together(statement: ast.expr) -> bool:
    """Whether an argument is text with a value in it; ``bulk`` has the SQL second."""
    if isinstance(statement, ast.JoinedStr):
        return any(isinstance(p, ast.FormattedValue) and not is_safe(p) for p in statement.values)
    formats = isinstance(statement, ast.Call) and called(statement).endswith(".format")
    return formats or isinstance(statement, ast.BinOp)


def is_safe(part: ast.FormattedValue) -> bool:
    """A constant of the module, or a number that is formatted as one."""
    spec = ast.unparse(part.format_spec) if part.format_spec else ""
    if isinstance(part.value, ast.IfExp):
        return {type(part.value.body), type(part.value.orelse)} == {ast.Constant}
    name = ast.unparse(part.value)
    return spec == "f'd'" or name in _PIECES or bool(_CONSTANT.fullmatch(name))


def logs_what_is_private(node: ast.AST) -> bool:
    """A logger that is given a question, a document, a pointer or a key by name."""
    if not (isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute)):
        return False
    logger = ast.unparse(node.func.value)
    if node.func.attr not in _LOG_METHODS or "log" not in logger.lower():
        return False
    given = [*node.args, *(word.value for word in node.keywords)]
    return any(_PRIVATE.search(name) for value in given for name in names_of(value))


def names_of(node: ast.AST) -> Iterator[str]:
    """The names whose values an expression shows; what it calls is not among them."""
    if isinstance(node, ast.Call):
        shown = [] if called(node).endswith(("hash_of", "len", "log_text")) else node.args
        for argument in [*shown, *(word.value for word in node.keywords)]:
            yield from names_of(argument)
    elif isinstance(node, ast.Name):
        yield node.id
    elif isinstance(node, ast.Attribute):
        yield node.attr
    else:
        for child in ast.iter_child_nodes(node):
            yield from names_of(child)


def compares_secrets_in_variable_time(node: ast.AST) -> bool:
    """``==`` tells by its time how much of a secret was right: hmac.compare_digest does not."""
    if not isinstance(node, ast.Compare):
        return False
    operators = (ast.Eq, ast.NotEq, ast.In, ast.NotIn)
    sides = [node.left, *node.comparators]
    named = [side for side in sides if isinstance(side, ast.Name | ast.Attribute)]
    secret = any(_SECRET.search(ast.unparse(side)) for side in named)
    with_nothing = any(isinstance(side, ast.Constant) for side in sides)
    return isinstance(node.ops[0], operators) and secret and not with_nothing


RULES: dict[str, tuple[Rule, tuple[str, ...], tuple[str, ...]]] = {
    "runs other code": (
        runs_other_code,
        ("eval(x)", "exec(x)", "pickle.loads(x)", "yaml.load(f)", "run(x, shell=True)"),
        ("re.compile(x)", "yaml.safe_load(f)", "run(x)", "run(x, shell=False)"),
    ),
    "puts values into SQL": (
        puts_values_into_sql,
        (
            "tx.run(f'SELECT {name}')",
            "tx.run('SELECT %s' % x)",
            "tx.execute('SELECT {}'.format(x))",
            "connection.query('SELECT ' + x)",
            "tx.run(f'{_SQL} {value!r}')",
            "bulk(tx, f'INSERT INTO {name}', rows)",
            "self._run(f'SELECT {name}')",
        ),
        ("tx.run(f'{_TOOL} WHERE {LIVE}')", "tx.run(f'SET x = {n:d}')", "tx.run('x', a=f'{b}')"),
    ),
    "logs what is private": (
        logs_what_is_private,
        (
            "_log.info('searched', query)",
            "_log.info('%s', chunk.chunk_text)",
            "logger.error('x', extra={'q': request.query})",
            "_log.info(f'{api_key}')",
            "_log.info(str(document))",
        ),
        ("_log.info('x', extra={'h': self.hash_of(query)})", "_log.error(log_text(error))"),
    ),
    "compares secrets in variable time": (
        compares_secrets_in_variable_time,
        ("secret == given", "self.api_key != x", "presented in secrets"),
        ("hmac.compare_digest(a, b)", "secret is None", "key == 'C'", "api_key == ''"),
    ),
}


def broken(rule: Rule, nodes: Iterable[ast.AST]) -> list[int]:
    """The lines where a rule is broken."""
    return [getattr(node, "lineno", 0) for node in nodes if rule(node)]


@cache
def breaches() -> dict[str, set[str]]:
    """Name of a rule → ``file:line`` of what breaks it, each deployed module read once."""
    found: dict[str, set[str]] = {name: set() for name in RULES}
    for path in python_files("shared", "functions"):
        nodes = list(ast.walk(parsed(path)))
        for name, (rule, *_) in RULES.items():
            found[name] |= {f"{relative(path)}:{line}" for line in broken(rule, nodes)}
    return found


@pytest.mark.parametrize("name", RULES)
def test_no_deployed_module_breaks_the_rule(name: str) -> None:
    assert breaches()[name] == set()


@pytest.mark.parametrize(("name", "code"), [(n, c) for n in RULES for c in RULES[n][1]])
def test_a_rule_sees_what_breaks_it(name: str, code: str) -> None:
    assert broken(RULES[name][0], ast.walk(ast.parse(code)))


@pytest.mark.parametrize(("name", "code"), [(n, c) for n in RULES for c in RULES[n][2]])
def test_a_rule_lets_pass_what_is_right(name: str, code: str) -> None:
    assert broken(RULES[name][0], ast.walk(ast.parse(code))) == []
