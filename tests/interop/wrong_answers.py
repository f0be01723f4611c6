# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The cpt authors
"""Answers of the conformance kit that are right, made wrong in one way.

    wrong_answers.py --list             lines of a fault and the groups that must fail
    wrong_answers.py FAULT COMMAND...   between the kit and COMMAND, whose answers are right

A fault changes the question before COMMAND gets it, as one would who reads it wrongly,
or the answer that comes. So the faults know nothing of how COMMAND is made.
"""
import base64
import re
import subprocess
import sys


def decoded(word):
    return b"" if word == "-" else base64.b64decode(word + "=" * (-len(word) % 4))


def encoded(data):
    return base64.b64encode(data).decode().rstrip("=") or "-"


def nonce_of(value):
    """The nonce in a path, as the kit writes it, or "-"; None: it is hard to say."""
    data, at, nonce = decoded(value), 0, "-"

    def varint():
        nonlocal at
        number = shift = 0
        while True:
            at += 1
            number |= (data[at - 1] & 127) << shift
            if data[at - 1] < 128:
                return number
            shift += 7

    try:
        while at < len(data):
            tag = varint()
            if tag & 7 == 0:
                varint()
            elif tag & 7 == 1:
                if tag >> 3 == 19:
                    nonce = "%016x" % int.from_bytes(data[at : at + 8], "little")
                at += 8
            else:
                length = varint() if tag & 7 == 2 else 4
                at += length
    except IndexError:
        return None
    return "-" if nonce == "0" * 16 else nonce


# --- Faults of what is read ---


def of_nonces(change):
    def read(words):
        if words[0] == "nonce":
            words[1:] = [encoded(value) for value in change([decoded(w) for w in words[1:]])]
        return words

    return read


def of_calls(change):
    """@change gets the value that came for a call and the nonce that was sent, and gives
    what is read in their place."""

    def read(words):
        if words[0] == "reply":
            for i, item in enumerate(words[3:], 3):
                parts = item.split("@")
                if len(parts) == 4 and parts[2] != "-":
                    words[i] = "@".join(parts[:2] + list(change(parts[2], parts[3])))
        return words

    return read


def own_nonce_is_lost(words):
    if words[0] == "reply":
        words[2] = "-"
    return words


def nonce_needs_no_room(words):
    if words[0] == "reply" and words[2] != "-":
        words[1] = str(int(words[1]) + 10)
    return words


def onward_by_own_limit(words):
    if words[0] == "onward" and len(words) == 3:
        words[2] = encoded(re.sub(b"max=[0-9]+", b"max=999999", decoded(words[2])))
    return words


# --- Faults of what is answered ---


def of_asks(change):
    def answer(words, right):
        if words[0] == "ask" and right[0] != "none":
            right = change(right)
        return right

    return answer


def of_onward(change):
    """@change gets the ask that came and the one that is sent."""

    def answer(words, right):
        if words[0] == "onward" and right[0] == "header":
            sent = change(decoded(words[2]), decoded(right[1]))
            right = ["header", encoded(sent)]
        return right

    return answer


def of_paths(change_nonce=None, change_drag=None):
    def answer(words, right):
        if words[0] != "path" or right[0] != "path":
            return right
        if change_nonce is not None and right[4] != "-":
            right[4] = change_nonce(right[4])
        for i, segment in enumerate(right[5:], 5):
            duration, stack, rest = segment.split("@")
            numbers = rest.split(",")
            if change_drag is not None:
                numbers[3] = change_drag(duration, numbers[3])
            right[i] = "@".join((duration, stack, ",".join(numbers)))
        return right

    return answer


def zero_is_a_nonce(words, right):
    return ["0" * 16] if words[0] == "nonce" and words[1:] == [encoded(b"0" * 16)] else right


# Each fault: how it reads, how it answers, the groups that must fail, those that may.
FAULTS = {
    "nothing": (None, None, "", ""),
    "nonces in upper case": (
        of_nonces(lambda values: [value.lower() for value in values]), None, "nonces", ""),
    "nonces between spaces": (
        of_nonces(lambda values: [value.strip() for value in values]), None, "nonces", ""),
    "the first of two nonces": (
        of_nonces(lambda values: values[:1]), None, "nonces", ""),
    "the first of two nonces in one value": (
        of_nonces(lambda values: [value.split(b",")[0] for value in values]), None,
        "nonces", ""),
    "0 is a nonce": (None, zero_is_a_nonce, "nonces", ""),
    "no drags asked for": (
        None, of_asks(lambda right: right[:3] + ["0"] + right[4:]), "asks", ""),
    "no graphs asked for": (None, of_asks(lambda right: right[:4] + ["-"]), "asks", ""),
    "sends forced on": (
        None, of_onward(lambda came, sent: sent + b";forced" * (b"forced" in came)),
        "onward", ""),
    "sends the graph on": (
        None,
        of_onward(lambda came, sent: sent + b"".join(re.findall(b';graph="[^"]*"', came)[:1])),
        "onward", ""),
    "sends no drag on": (
        None, of_onward(lambda came, sent: re.sub(b";drag(=.1)?", b"", sent)), "onward", ""),
    "sends no delay on": (
        None, of_onward(lambda came, sent: re.sub(b";(delay|at)=[^;]*", b"", sent)),
        "onward", ""),
    "sends no burn on": (
        None, of_onward(lambda came, sent: re.sub(b";burn(=.1)?", b"", sent)), "onward", ""),
    "sends no max": (
        None, of_onward(lambda came, sent: re.sub(b";max=[0-9]*", b"", sent)), "onward", ""),
    "sends the version on": (
        None, of_onward(lambda came, sent: came[:1] + sent[1:]), "onward", ""),
    "sends the own max on": (onward_by_own_limit, None, "onward", ""),
    "reads no drags": (
        None, of_paths(change_drag=lambda duration, drag: "-"), "drags", "paths changed"),
    "takes no drag for the duration": (
        None, of_paths(change_drag=lambda duration, drag: duration if drag == "-" else drag),
        "drags", "paths random changed"),
    "takes 0 for no drag": (
        None, of_paths(change_drag=lambda duration, drag: "-" if drag == "0" else drag),
        "drags", "changed"),
    "reads no nonces": (
        None, of_paths(change_nonce=lambda nonce: "-"), "paths random drags", "changed"),
    "reads nonces from the other end": (
        None,
        of_paths(change_nonce=lambda nonce: bytes.fromhex(nonce)[::-1].hex()),
        "paths random drags", "changed"),
    "believes any path": (
        of_calls(lambda value, nonce: (value, nonce_of(value) or nonce)), None, "stale", ""),
    "believes any path where it sent no nonce": (
        of_calls(lambda value, nonce: (
            value, nonce if nonce != "-" else nonce_of(value) or nonce)),
        None, "stale", ""),
    "believes no path without a nonce": (
        of_calls(lambda value, nonce: ("-", "-") if nonce_of(value) == "-" else (value, nonce)),
        None, "stale replies", "folded hostile"),
    "takes a stale path for none": (
        of_calls(lambda value, nonce: (
            ("-", "-") if nonce_of(value) not in (None, "-", nonce) else (value, nonce))),
        None, "stale", "hostile"),
    "takes a stale path for one that is refused": (
        of_calls(lambda value, nonce: (
            ("AA", "-") if nonce_of(value) not in (None, "-", nonce) else (value, nonce))),
        None, "stale", ""),
    "answers without the nonce": (
        own_nonce_is_lost, None, "replies folded hostile stale", ""),
    "does not count the nonce": (nonce_needs_no_room, None, "folded", ""),
}


def main():
    if sys.argv[1:] == ["--list"]:
        for name, (_, _, groups, others) in FAULTS.items():
            print("%s|%s|%s" % (name, groups, others))
        return
    read, answer, _, _ = FAULTS[sys.argv[1]]
    command = subprocess.Popen(
        sys.argv[2:], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    for line in sys.stdin:
        number, *words = line.split()
        asked = read(list(words)) if read is not None else words
        command.stdin.write(" ".join([number] + asked) + "\n")
        command.stdin.flush()
        _, *right = command.stdout.readline().split()
        if answer is not None:
            right = answer(words, right)
        print(number, " ".join(right), flush=True)
    command.stdin.close()
    sys.exit(command.wait())


main()
