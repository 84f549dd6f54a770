"""Renders a chart whose templates keep to a part of Helm's language, for where Helm is not: values, `if`, `else` and `end`, and the
functions below. Anything else is an error, and never left as it is.
"""

import hashlib
import json
import re

import yaml

ACTION = re.compile(r"(\s*)\{\{(-?)\s*(.*?)\s*(-?)\}\}(\s*)", re.DOTALL)


class Unknown(Exception):
    pass


def merged(values, over):
    """As Helm lays one file of values over another."""
    if not isinstance(values, dict) or not isinstance(over, dict):
        return over
    return {**values, **{key: merged(values[key], value) if key in values else value for key, value in over.items()}}


def to_yaml(value):
    return yaml.safe_dump(value, default_flow_style=False, sort_keys=True, width=10**9).rstrip("\n")


def indented(text, width):
    return "\n" + "\n".join(" " * width + line if line else line for line in text.split("\n"))


def look_up(path, scope):
    value = scope
    for name in path.removeprefix(".").split("."):
        if not isinstance(value, dict) or name not in value:
            raise Unknown(f"{path} is not there")
        value = value[name]
    return value


def word(text, scope):
    if text.startswith("."):
        return look_up(text, scope)
    return int(text)


def evaluate(expression, scope):
    """The value of `word | function | …`."""
    stages = [stage.split() for stage in expression.split("|")]
    if stages[0][0] in ("toYaml", "not"):
        stages = [[stages[0][1]], [stages[0][0]]] + stages[1:]
    value = word(stages[0][0], scope)
    for name, *arguments in stages[1:]:
        if name == "toYaml":
            value = to_yaml(value)
        elif name == "not":
            value = not value
        elif name == "quote":
            value = json.dumps(str(value), ensure_ascii=False)
        elif name == "nindent":
            value = indented(value, int(arguments[0]))
        elif name == "sha256sum":
            value = hashlib.sha256(value.encode()).hexdigest()
        elif name == "default":
            value = value or word(arguments[0], scope)
        else:
            raise Unknown(f"the function {name}")
    return value


def render(template, scope):
    """The text of one template."""
    out, shown = [], [True]  # whether what stands here is to be shown, for each `if` that it stands in
    position = 0
    for action in ACTION.finditer(template):
        before, trim_left, expression, trim_right, after = action.groups()
        if all(shown):
            out.append(template[position:action.start()] + ("" if trim_left else before))
        position = action.end() if trim_right else action.end() - len(after)
        keyword, _, rest = expression.partition(" ")
        if keyword == "if":
            shown.append(bool(evaluate(rest, scope)) if all(shown) else False)
        elif keyword == "else" and not rest:
            shown[-1] = not shown[-1] and all(shown[:-1])
        elif keyword == "end":
            shown.pop()
        elif all(shown):
            out.append(str(evaluate(expression, scope)))
    out.append(template[position:])
    return "".join(out)


def paths_in(template):
    """What a template asks of the values."""
    return set(re.findall(r"\.Values\.([\w.]+)", " ".join(match[3] for match in ACTION.finditer(template))))
