"""What a client script sets with AgentJetJob(...) and afterwards, read from its text: the script is never run."""

from __future__ import annotations

import ast
import re
from collections import Counter

from msgspec import Struct

from ajet_inbox.core.training.yaml_file import Fault, Scalar, Value

_MAX_CHARACTERS = 512 * 1024
_CONFIG = re.compile(r"(?:^|\.)config\.(ajet(?:\.\w+)+)$")
_GROUP = re.compile(r"(?:^|\.)config\.(ajet(?:\.\w+)*)$")


class Given(Struct, frozen=True, kw_only=True):
    """A value in a script, and its line from 1. `known`: it is written there; else it is only known when it runs."""

    value: Value = None
    line: int
    known: bool = True


class Job(Struct, frozen=True, kw_only=True):
    """The arguments of AgentJetJob by name, and what is written to `job.config.ajet.*` afterwards, by dotted key."""

    line: int
    arguments: dict[str, Given] = {}
    writes: dict[str, Given] = {}


def read_job(text: str) -> Job | Fault | None:
    """The job that a script makes; None where it makes none, the fault where it is no Python of this version."""
    if len(text) > _MAX_CHARACTERS:
        return None
    try:
        tree = ast.parse(text)
    except SyntaxError as error:
        return Fault(message=error.msg, line=error.lineno or 1, column=error.offset or 1)
    except (ValueError, RecursionError, MemoryError):  # zero bytes, or nested beyond what Python's own parser takes
        return Fault(message="it is nested too deeply, or holds zero bytes")
    return _job(tree)


def _job(tree: ast.Module) -> Job | None:
    nodes = list(ast.walk(tree))
    call = next((node for node in nodes if isinstance(node, ast.Call) and _name(node.func) == "AgentJetJob"), None)
    if call is None:
        return None
    constants = _constants(tree, nodes)
    named = [(keyword.arg, keyword.value) for keyword in call.keywords if keyword.arg]
    positional = [("base_yaml_config", argument) for argument in call.args[:1]]
    arguments = {name: _given(value, constants) for name, value in (*positional, *named)}
    return Job(line=call.lineno, arguments=arguments, writes=_writes(nodes, constants))


def _name(function: ast.expr) -> str:
    if isinstance(function, ast.Attribute):
        return function.attr
    return function.id if isinstance(function, ast.Name) else ""


def _constants(tree: ast.Module, nodes: list[ast.AST]) -> dict[str, Value]:
    """The names of the module that are given a plain value once, and nothing else anywhere."""
    stored = Counter(node.id for node in nodes if isinstance(node, ast.Name) and not isinstance(node.ctx, ast.Load))
    constants: dict[str, Value] = {}
    for node in tree.body:
        match node:
            case (
                ast.Assign(targets=[ast.Name(id=name)], value=value)
                | ast.AnnAssign(target=ast.Name(id=name), value=ast.expr() as value)
            ):
                given = _given(value, {})
                if given.known and stored[name] == 1:
                    constants[name] = given.value
    return constants


def _given(node: ast.expr, constants: dict[str, Value]) -> Given:
    match node:
        case ast.Constant(value=str() | int() | float() | bool() | None as value):
            return Given(value=value, line=node.lineno)
        case ast.UnaryOp(op=ast.USub(), operand=ast.Constant(value=int() | float() as value)):
            return Given(value=-value, line=node.lineno)
        case ast.Name(id=name) if name in constants:
            return Given(value=constants[name], line=node.lineno)
        case ast.List(elts=items) | ast.Tuple(elts=items) if all(isinstance(item, ast.Constant) for item in items):
            return Given(value=tuple(_plain(item) for item in items), line=node.lineno)
    return Given(line=node.lineno, known=False)


def _plain(node: ast.expr) -> Scalar:
    value = node.value if isinstance(node, ast.Constant) else None
    return value if isinstance(value, str | int | float | bool) else None


def _writes(nodes: list[ast.AST], constants: dict[str, Value]) -> dict[str, Given]:
    """`job.config.ajet.a.b = value`, also by way of `group = job.config.ajet.a` and `group.b = value`."""
    groups: dict[str, str] = {}
    writes: dict[str, Given] = {}
    for node in nodes:
        if not isinstance(node, ast.Assign | ast.AugAssign):
            continue
        for target in node.targets if isinstance(node, ast.Assign) else [node.target]:
            if isinstance(target, ast.Name) and (group := _GROUP.search(_dotted(node.value))):
                groups[target.id] = group[1]
            elif key := _written_key(_dotted(target), groups):
                given = Given(line=node.lineno, known=False) if isinstance(node, ast.AugAssign) else None
                writes[key] = given or _given(node.value, constants)
    return writes


def _written_key(dotted: str, groups: dict[str, str]) -> str | None:
    if found := _CONFIG.search(dotted):
        return found[1]
    first, _, rest = dotted.partition(".")
    return f"{groups[first]}.{rest}" if rest and first in groups else None


def _dotted(node: ast.expr) -> str:
    """`a.b.c` as text; empty where it is anything else."""
    names: list[str] = []
    while isinstance(node, ast.Attribute):
        names.append(node.attr)
        node = node.value
    return ".".join([node.id, *reversed(names)]) if isinstance(node, ast.Name) else ""
