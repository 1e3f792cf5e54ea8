"""mutants.py: all small changes of one C file that its tests should notice.

    mutants(text) -> [Mutant]      in the order of the file, the same for the same text

A mutant changes one operator, bound, operand, constant or statement inside a function's body. Left alone: comments, texts,
tables outside functions, and what stands inside ASSERT, which is a check itself. Knows C only as far as the project's own
layout goes (clang-format has the last word there): a statement begins a line, a function's brace stands in column one.
"""
import re
from collections import namedtuple

Mutant = namedtuple("Mutant", "kind function line start end new")

TOKEN = re.compile(r"""
    (?P<skip>//[^\n]*|/\*.*?\*/|"(?:\\.|[^"\\\n])*"|'(?:\\.|[^'\\\n])*'|^[ \t]*\#(?:[^\n\\]|\\.|\\\n)*)
  | (?P<name>[A-Za-z_]\w*)
  | (?P<number>0[xX][0-9a-fA-F]+[uUlL]*|\d+\.\d+|\d+[uUlL]*)
  | (?P<mark>->|\+\+|--|<<=|>>=|<=|>=|==|!=|&&|\|\||\+=|-=|\*=|/=|%=|\|=|&=|\^=|<<|>>|[-+*/%<>=!&|^~?:;,.(){}\[\]])
""", re.VERBOSE | re.DOTALL | re.MULTILINE)

BOUND = {"<": "<=", "<=": "<", ">": ">=", ">=": ">"}
OPERATOR = {"==": "!=", "!=": "==", "&&": "||", "||": "&&", "+": "-", "-": "+", "*": "/", "/": "*", "%": "*",
            "+=": "-=", "-=": "+=", "|=": "&=", "&=": "|=", "++": "--", "--": "++", "<<": ">>", ">>": "<<",
            "&": "|", "|": "&"}
NAMED = {"true": "false", "false": "true"}
# Both sides of a binary operator are values; before these words a sign or a star is not binary.
NOT_VALUES = {"return", "case", "sizeof", "else", "do", "const", "struct", "enum", "unsigned", "int", "char", "void", "static"}
OPEN, CLOSE = {"(": ")", "[": "]", "{": "}"}, {")", "]", "}"}
ENDS = {";", ",", "?", ":", "=", "+=", "-=", "|=", "&=", "{", "}"}


class Token:
    __slots__ = ("kind", "text", "start", "end")

    def __init__(self, kind, text, start, end):
        self.kind, self.text, self.start, self.end = kind, text, start, end


def tokens_of(text):
    return [Token(m.lastgroup, m.group(), m.start(), m.end()) for m in TOKEN.finditer(text) if m.lastgroup != "skip"]


def bodies_of(text, tokens):
    """(name, first token, last token) of each function: its opening brace is alone in column one."""
    found, index = [], 0
    while index < len(tokens):
        token = tokens[index]
        opens = token.text == "{" and (token.start == 0 or text[token.start - 1] == "\n") and tokens[index - 1].text == ")"
        if not opens:
            index += 1
            continue
        last, depth = index, 0
        while last < len(tokens):
            depth += {"{": 1, "}": -1}.get(tokens[last].text, 0)
            if depth == 0:
                break
            last += 1
        found.append((function_name(tokens, index - 1), index + 1, last))
        index = last + 1
    return found


def function_name(tokens, close):
    depth, index = 0, close
    while index >= 0:
        depth += {")": 1, "(": -1}.get(tokens[index].text, 0)
        if depth == 0:
            break
        index -= 1
    return tokens[index - 1].text if index > 0 else "?"


def asserted(tokens, first, last):
    """The indices inside ASSERT(...), which are never mutated."""
    inside, index = set(), first
    while index < last:
        if tokens[index].text.startswith("ASSERT"):
            depth = 0
            while index < last:
                depth += {"(": 1, ")": -1}.get(tokens[index].text, 0)
                inside.add(index)
                index += 1
                if depth == 0 and tokens[index - 1].text == ")":
                    break
        index += 1
    return inside


def binary(tokens, index):
    before = tokens[index - 1]
    if tokens[index - 2].text in ("struct", "enum", "union"):
        return False
    return (before.kind in ("name", "number") and before.text not in NOT_VALUES) or before.text in (")", "]")


def operand_left(tokens, index, first):
    """Where the operand begins that ends before `index`, a && or a ||."""
    depth, at = 0, index - 1
    while at >= first:
        text = tokens[at].text
        if text in CLOSE:
            depth += 1
        elif text in OPEN:
            if depth == 0:
                return at + 1
            depth -= 1
        elif depth == 0 and (text in ENDS or text in ("&&", "||", "return")):
            return at + 1
        at -= 1
    return None


def operand_right(tokens, index, last):
    depth, at = 0, index + 1
    while at < last:
        text = tokens[at].text
        if text in OPEN:
            depth += 1
        elif text in CLOSE:
            if depth == 0:
                return at - 1
            depth -= 1
        elif depth == 0 and (text in ENDS or text in ("&&", "||")):
            return at - 1
        at += 1
    return None


def dropped_operands(tokens, index, first, last):
    left, right = operand_left(tokens, index, first), operand_right(tokens, index, last)
    if left is not None:
        yield tokens[left].start, tokens[index + 1].start, ""
    if right is not None:
        yield tokens[index - 1].end, tokens[right].end, ""


def statement_end(tokens, index, last):
    depth = 0
    while index < last:
        text = tokens[index].text
        if text in OPEN:
            depth += 1
        elif text in CLOSE:
            depth -= 1
        elif text == ";" and depth == 0:
            return index
        if depth < 0 or text in ("{", "}"):
            return None
        index += 1
    return None


def removable(tokens, index, last):
    """A call, an assignment, a break or a continue that begins a statement; never a declaration."""
    word = tokens[index]
    if word.kind != "name" and word.text != "*":
        return None
    if tokens[index - 1].text not in (";", "{", "}", ":"):
        return None
    end = statement_end(tokens, index, last)
    if end is None:
        return None
    if word.text in ("break", "continue"):
        return end
    if word.text in NOT_VALUES or word.text in ("if", "for", "while", "switch", "goto", "default", "TRY", "case"):
        return None
    after = tokens[index + 1].text
    if word.text != "*" and after not in ("(", ".", "->", "[", "=", "+=", "-=", "|=", "&=", "++", "--", "*=", "/="):
        return None
    return end


def constants(token):
    text = token.text.rstrip("uUlL")
    suffix = token.text[len(text):]
    if text.lower().startswith("0x") or "." in text:
        return []
    value = int(text)
    return [f"{value + 1}{suffix}"] + ([f"{value - 1}{suffix}"] if value > 1 else [])


def conditions(tokens, index):
    """The parenthesis behind an if or a while, negated whole."""
    if tokens[index].text not in ("if", "while") or tokens[index + 1].text != "(":
        return None
    depth, at = 0, index + 1
    while True:
        depth += {"(": 1, ")": -1}.get(tokens[at].text, 0)
        if depth == 0:
            return tokens[index + 1].end, tokens[at].start
        at += 1


def mutants(text):
    tokens, found = tokens_of(text), []
    for name, first, last in bodies_of(text, tokens):
        skip = asserted(tokens, first, last)

        def add(kind, start, end, new):
            if text[start:end] != new:
                found.append(Mutant(kind, name, text.count("\n", 0, start) + 1, start, end, new))

        for index in range(first, last):
            if index in skip:
                continue
            token = tokens[index]
            if token.text in BOUND:
                add("bound", token.start, token.end, BOUND[token.text])
                add("operator", token.start, token.end, ">=" if token.text in ("<", "<=") else "<=")
            elif token.text in OPERATOR and binary(tokens, index):
                add("operator", token.start, token.end, OPERATOR[token.text])
            if token.text in ("&&", "||"):
                for start, end, new in dropped_operands(tokens, index, first, last):
                    add("operand", start, end, new)
            if token.text in NAMED:
                add("constant", token.start, token.end, NAMED[token.text])
            if token.kind == "number":
                for new in constants(token):
                    add("constant", token.start, token.end, new)
            negated = conditions(tokens, index)
            if negated:
                add("condition", negated[0], negated[1], "!(" + text[negated[0]:negated[1]] + ")")
            end = removable(tokens, index, last)
            if end is not None:
                add("statement", token.start, tokens[end].end, ";")
    return found


def applied(text, mutant):
    return text[:mutant.start] + mutant.new + text[mutant.end:]


def change(text, mutant):
    """`before` -> `after` on one line each, as docs/MUTANTS.md names it."""
    begin = text.rfind("\n", 0, mutant.start) + 1
    end = text.find("\n", mutant.end)
    squeeze = lambda part: " ".join(part.split())
    return squeeze(text[begin:end]), squeeze(text[begin:mutant.start] + mutant.new + text[mutant.end:end])
