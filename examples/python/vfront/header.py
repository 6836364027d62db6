# SPDX-License-Identifier: MIT
"""vfront.h as ctypes: types, constants, calls and their comments, from the text that the preprocessor made of it (`cc -E -CC -P -dD`).

The layout is compared with the compiler's by the caller: vfront/__init__.py."""
import ctypes
import re

COMMENT = r"/\*(?:(?!\*/).)*\*/"
STRUCT = re.compile(r"(?:/\*\*((?:(?!\*/).)*)\*/\s*)?(?:typedef )?struct (vfront\w*) \{(.*?)\}\s*\w*;", re.S)
ENUM = re.compile(r"(?:typedef )?enum (vfront\w*)?\s*\{(.*?)\}\s*\w*;", re.S)
FIELD = re.compile(r"((?:\s*%s)*)\s*((?:(?!/\*)[^;])+);[ \t]*(%s)?" % (COMMENT, COMMENT), re.S)
CALL = re.compile(r"(?:/\*\*((?:(?!\*/).)*)\*/\s*)?((?:const )?(?!return)\w+) (\*?)(vfront_\w+)\(([^()]*)\);", re.S)
NUMBER = {"char": ctypes.c_char, "int": ctypes.c_int, "float": ctypes.c_float, "double": ctypes.c_double, "size_t": ctypes.c_size_t,
          **{f"{u}int{n}_t": getattr(ctypes, f"c_{u}int{n}") for u in ("", "u") for n in (8, 16, 32, 64)}}


def plain(comment):
    """Text of a comment, in one paragraph a blank line."""
    lines = [re.sub(r"^\s*\*? ?", "", line) for line in re.sub(r"^/\*+|\*/$", "", (comment or "").strip()).split("\n")]
    return "\n".join(lines).strip()


class Header:
    """constant: values by name; type: ctypes by name, without the _t; call: (restype, argtypes, comment) by name."""

    def __init__(self, text):
        self.constant, self.type, self.call, self.enum = {}, {}, {}, {}
        defined = re.findall(r"^#define (VFRONT_\w+) (.+)$", text, re.M)
        text = re.sub(r"^#.*$", "", text, flags=re.M)
        for name, body in ENUM.findall(re.sub(COMMENT, " ", text, flags=re.S)):
            self._read_enum(name, body)
        for name, value in defined:
            self.constant.setdefault(name, value.strip())
        for doc, name, body in STRUCT.findall(text):
            if name != "vfront":  # its size is the compiler's affair
                self._read_struct(name, doc, body)
        for name, value in defined:
            if isinstance(self.constant[name], str):
                self._read_constant(name, value.strip())
        for doc, result, star, name, arguments in CALL.findall(text):
            self.call[name] = (self._of(result, star), [self._argument(a) for a in arguments.split(",") if a.strip() not in ("", "void")], plain(doc))

    def number(self, expression):
        """Value of an integer expression of C."""
        text = re.sub(r"\b(0x[0-9a-f]+|\d+)[uUlL]+\b", r"\1", expression)
        text = re.sub(r"\b[A-Za-z_]\w*\b", lambda m: "(%d)" % self._named(m.group()), text)
        if not re.fullmatch(r"[\dxa-fA-F()\s+*/<>%-]+", text):
            raise ValueError(f"no integer: {expression}")
        return int(eval(text.replace("/", "//"), {"__builtins__": {}}))  # digits and operators only

    def _named(self, name):
        value = self.constant[name]
        return value if isinstance(value, int) else self.number(value)

    def _read_constant(self, name, value):
        try:
            self.constant[name] = float(value) if re.fullmatch(r"\d+\.\d+", value) else self.number(value)
        except (ValueError, KeyError, SyntaxError):
            del self.constant[name]

    def _read_enum(self, name, body):
        names, value = {}, -1
        for item in filter(None, (part.strip() for part in body.split(","))):
            key, _, given = (word.strip() for word in item.partition("="))
            value = self.number(given) if given else value + 1
            self.constant[key] = names[key] = value
        if name:
            self.enum[name], NUMBER[name + "_t"] = names, ctypes.c_int

    def _of(self, name, stars):
        name = name.replace("const ", "").strip()
        base = None if name == "void" else NUMBER.get(name) or self.type.get(name[:-2]) or self._opaque(name)
        if stars and base in (None, ctypes.c_char):
            return ctypes.c_void_p if base is None else ctypes.c_char_p
        return ctypes.POINTER(base) if stars else base

    def _opaque(self, name):
        """A struct that is defined further on."""
        made = self.type[name[:-2]] = type(name, (ctypes.Structure,), {})
        return made

    def _read_struct(self, name, doc, body):
        made, fields, comments = self.type.get(name) or self._opaque(name + "_t"), [], {}
        for before, declaration, after in FIELD.findall(body):
            kind, names = re.match(r"\s*((?:const )?\w+) +(.*)", declaration, re.S).groups()
            for declarator in names.split(","):
                stars, field, sizes = re.match(r"\s*(\**)\s*(\w+)((?:\[[^\]]*\])*)", declarator).groups()
                held = self._of(kind, stars)
                for size in reversed(re.findall(r"\[([^\]]*)\]", sizes)):
                    held = held * self.number(size)
                fields.append((field, held))
                comments[field] = " ".join(plain(c) for c in re.findall(COMMENT, before, re.S) + [after] if c).replace("\n", " ")
        made._fields_ = fields
        made.comments = comments
        made.__doc__ = plain(doc) + "\n\n" + "\n".join(f"{f}: {c}" for f, c in comments.items())

    def _argument(self, text):
        kind, stars, sizes = re.match(r"\s*((?:const )?\w+) ?(\**) ?\w*((?:\[[^\]]*\])*)", text.replace("\n", " ").strip()).groups()
        if kind.endswith("void") and (stars == "**" or sizes):
            return ctypes.POINTER(ctypes.c_void_p)
        if stars == "**":
            return ctypes.POINTER(self._of(kind, "*"))
        return self._of(kind, stars or sizes)
