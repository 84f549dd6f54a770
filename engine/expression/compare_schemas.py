#!/usr/bin/env python3
"""Draws schemas and values, and compares the engine's verdicts with those of python3-jsonschema.

Usage: compare_schemas.py PROGRAM [PAIRS [SEED]]. Exits 77, which ctest shows as skipped, where python3-jsonschema is
missing.
"""
import json
import random
import subprocess
import sys

PATTERNS = ["^a", "b$", "^[a-c]+$", "a.c", "^(x|y)", "[0-9]{2}", "é", "^$", "^.{2,3}$"]
NAMES = ["a", "b", "c", "ab", "x1", "y 2", "é/~"]
TEXTS = ["", "a", "b", "ab", "abc", "a_c", "x12", "é", "éé", "y", "😀", "cab"]
NUMBERS = [0, 1, 2, 3, 4, 7, 10, -1, -3, 0.5, 1.5, 2.0, 2.5, -0.0, 1e3, 0.1, 1e300, 2**53 + 1, 2.0**53, 2**63, -(2**63)]


class Draw:
    def __init__(self, seed):
        self.random = random.Random(seed)
        self.definitions = []

    def one(self, of):
        return self.random.choice(of)

    def chance(self, one_in):
        return self.random.randrange(one_in) == 0

    def value(self, depth=3):
        kind = self.random.randrange(8 if depth > 0 else 5)
        if kind == 0:
            return self.one([None, True, False])
        if kind in (1, 2):
            return self.one(NUMBERS)
        if kind in (3, 4):
            return self.one(TEXTS)
        if kind == 5:
            return [self.value(depth - 1) for _ in range(self.random.randrange(4))]
        if kind == 6 and self.chance(2):
            few = [self.one([0, 1, 1.0, "a", [1], [1.0], {"a": 1}]) for _ in range(self.random.randrange(4))]
            return few
        return {self.one(NAMES): self.value(depth - 1) for _ in range(self.random.randrange(4))}

    def value_for(self, schema, depth=3):
        """A value of the kind that some keyword of the schema is about."""
        silent = ("type", "title", "format", "definitions", "$ref")
        keys = [key for key in schema if key not in silent] if isinstance(schema, dict) else []
        if not keys or depth < 0 or self.chance(8):
            return self.value(max(depth, 0))
        key = self.one(keys)
        of = schema[key]
        if key in ("enum", "const"):
            return self.one(of) if key == "enum" else of
        if key in ("minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf"):
            return self.one(NUMBERS)
        if key in ("minLength", "maxLength", "pattern"):
            return self.one(TEXTS)
        if key in ("minItems", "maxItems", "uniqueItems", "items", "additionalItems"):
            items = schema.get("items", True)
            schemas = items if isinstance(items, list) else [items]
            schemas = [schemas[min(i, len(schemas) - 1)] for i in range(self.random.randrange(4))]
            few = [self.value_for(one, depth - 1) for one in schemas]
            return few + few[:1] if self.chance(4) else few
        if key in ("allOf", "anyOf", "oneOf"):
            return self.value_for(self.one(of), depth)
        if key in ("not", "if", "then", "else"):
            return self.value_for(of, depth)
        known = schema.get("properties", {})
        names = self.random.sample(NAMES, self.random.randrange(4)) + [name for name in known if not self.chance(3)]
        return {name: self.value_for(known.get(name, True), depth - 1) for name in names}

    def plain(self):
        """A value for enum and const: none with booleans inside, which some versions of jsonschema take for 0 and 1."""
        return self.one([None, True, False, self.one(NUMBERS), self.one(TEXTS), [], [1, "a"], {"a": 1.0}, {}])

    def schema(self, depth=3):
        if self.chance(12):
            return self.one([True, False, {}])
        if self.definitions and self.chance(6):
            return {"$ref": self.one(self.definitions)}
        schema = {}
        for _ in range(self.random.randrange(1, 4)):
            self.add_keyword(schema, depth)
        return schema

    def schemas(self, depth):
        return [self.schema(depth - 1) for _ in range(self.random.randrange(1, 4))]

    def add_keyword(self, schema, depth):
        small = self.random.randrange(4)
        deep = depth > 0
        # Types and single values decide most often, so they are drawn less.
        group = self.one([0, 1, 2, 2, 3, 3, 4, 4, 4, 5, 5, 5, 6, 6, 6, 7, 7, 8][: None if deep else 9])
        if group == 0:
            types = ["null", "boolean", "integer", "number", "string", "array", "object"]
            several = self.random.sample(types, self.random.randrange(1, 5))
            schema["type"] = self.one(types) if self.chance(2) else several
        elif group == 1:
            key = self.one(["enum", "const"])
            schema[key] = self.plain() if key == "const" else [self.plain() for _ in range(self.random.randrange(1, 6))]
        elif group == 2:
            key = self.one(["minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf"])
            schema[key] = self.one([1, 2, 3, 0.5, 1.5, 1.0]) if key == "multipleOf" else self.one(NUMBERS)
        elif group == 3:
            key = self.one(["minLength", "maxLength", "pattern"])
            schema[key] = self.one(PATTERNS) if key == "pattern" else self.one([small, float(small)])
        elif group == 4:
            key = self.one(["minItems", "maxItems", "minProperties", "maxProperties", "uniqueItems", "required",
                            "title", "format"])
            schema[key] = small
            if key == "uniqueItems":
                schema[key] = self.one([True, True, False])
            elif key == "required":
                schema[key] = self.random.sample(NAMES, self.random.randrange(3))
            elif key in ("title", "format"):
                schema[key] = self.one(["email", "ignored"])
        elif group == 5:
            if self.chance(2):
                schema["items"] = self.schema(depth - 1)
            else:
                schema["items"] = self.schemas(depth)
            # Beside a boolean, and as false, it breaks some versions of jsonschema down.
            schema.pop("additionalItems", None)
            if not isinstance(schema["items"], bool) and self.chance(2):
                schema["additionalItems"] = self.schema(depth - 1) or {"not": {}}
        elif group == 6:
            schema["properties"] = {self.one(NAMES): self.schema(depth - 1) for _ in range(self.random.randrange(4))}
            if self.chance(2):
                schema["patternProperties"] = {self.one(PATTERNS): self.schema(depth - 1)}
            if self.chance(2):
                schema["additionalProperties"] = self.schema(depth - 1)
        elif group == 7:
            key = self.one(["allOf", "anyOf", "oneOf", "not"])
            schema[key] = self.schema(depth - 1) if key == "not" else self.schemas(depth)
        else:
            schema["if"] = self.schema(depth - 1)
            for key in ("then", "else"):
                if not self.chance(3):
                    schema[key] = self.schema(depth - 1)

    def document(self):
        """A schema, perhaps with definitions, which refer to earlier ones, or for parts of a value to themselves."""
        self.definitions = []
        definitions = {}
        for name in self.random.sample(["one", "a b", "c/d%"], self.random.randrange(3)):
            definition = self.schema(2)
            pointer = "#/definitions/" + name.replace("/", "~1").replace("%", "%25").replace(" ", "%20")
            if self.chance(3):
                definition = {"type": ["object", "integer"], "additionalProperties": {"$ref": pointer}}
            definitions[name] = definition
            self.definitions.append(pointer)
        schema = self.schema()
        if definitions:
            if not isinstance(schema, dict) or "$ref" in schema:
                schema = {"allOf": [schema]}
            schema["definitions"] = definitions
        return schema


def main():
    try:
        from jsonschema import Draft7Validator
    except ImportError:
        print("skipped: python3-jsonschema is not installed")
        return 77
    program = sys.argv[1]
    pairs = int(sys.argv[2]) if len(sys.argv) > 2 else 4000
    seed = int(sys.argv[3]) if len(sys.argv) > 3 else 1

    draw = Draw(seed)
    lines, expected = [], []
    while len(lines) < pairs:
        schema = draw.document()
        Draft7Validator.check_schema(schema)
        validator = Draft7Validator(schema)
        # Several values of one schema, so that some of them fit.
        for _ in range(4):
            value = draw.value_for(schema)
            lines.append(json.dumps({"schema": schema, "value": value}))
            expected.append(validator.is_valid(value))
    answer = subprocess.run([program], input="\n".join(lines) + "\n", capture_output=True, text=True, check=True)
    verdicts = [json.loads(line) for line in answer.stdout.splitlines()]

    all_three = zip(lines, expected, verdicts)
    different = [three for three in all_three if three[2].get("fits") != three[1]]
    for line, fits, verdict in different[:10]:
        print(f"jsonschema says {fits}, the engine {verdict}:\n  {line}")
    share = sum(expected) / len(expected)
    print(f"{len(verdicts)} pairs of seed {seed}, {share:.0%} of which fit: {len(different)} different verdicts")
    # What hardly ever fits, or nearly always, compares little.
    return 0 if len(verdicts) == len(lines) and not different and 0.25 < share < 0.75 else 1


if __name__ == "__main__":
    sys.exit(main())
