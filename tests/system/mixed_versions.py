# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The cpt authors
"""mixed_versions.py CPT HELPERS INTEROP PYTHON NODE KEPT - this version and 0.1 in one chain

    client -> entry -> hop -> leaf      one of them, or the client, is of release 0.1

where the others are services in C, Python and Node. The bytes in KEPT are the paths of the old
ones. What docs/versions.md says: paths go through in both directions; who sends no nonce gets
none, and a path without one is taken."""
import subprocess
import sys

from headed_services import HERE, Decoder, Kinds, OverHttp, asks, new_nonce, nonce_of
from proxy_programs import output, service

CPT, HELPERS, INTEROP, PYTHON, NODE, KEPT = sys.argv[1:7]
KINDS = Kinds(HELPERS, INTEROP, PYTHON, NODE)
DECODER = Decoder(CPT)
OLD_ASK = {"critical-path": "1;max=2048;forced"}
ROUNDS = 5  # a reply that came before it was waited for is on no path


def fail(*words):
    sys.exit("FAIL: " + " ".join(str(word) for word in words))


def old(*words):
    return subprocess.run([sys.executable, "-B", HERE + "/release_0_1.py", *words],
                          stdout=subprocess.PIPE, text=True)


def start_old(name, port=None):
    return service(name, [sys.executable, "-B", HERE + "/release_0_1.py", "serve", KEPT] +
                   (["127.0.0.1:%d" % port] if port else []))


def frames_of(value):
    return {frame for segment in DECODER.segments(value) for frame in segment["stack"]}


def kept_frames():
    with open(KEPT, "rb") as file:
        value = subprocess.run(["base64", "-w0"], stdin=file, stdout=subprocess.PIPE, text=True,
                               check=True).stdout.rstrip("=")
    return {frame for frame in frames_of(value) if "‹" not in frame}


def path_of(what, port, headers, number):
    passes, came, value = OverHttp(port).get(2, "0-0-0", "m%d" % number, headers)
    if not passes:
        fail(what, "fails:", came)
    if value is None:
        fail(what, "gives no path")
    return value


def check(what, port, wanted):
    """With a nonce and without: the frames that the last services wrote are on the path."""
    for is_old_caller in (False, True):
        for number in range(ROUNDS):
            nonce = new_nonce()
            value = path_of(what, port, OLD_ASK if is_old_caller else asks(nonce), number)
            if nonce_of(value) != (None if is_old_caller else nonce):
                fail(what, "answers with the nonce", nonce_of(value))
            done = old("metadata", value)
            if done.returncode != 0:
                fail(what, "gives a path that 0.1 does not read")
            there = [str(segment["duration_ns"]) for segment in DECODER.segments(value)]
            if [line.split(" ")[0] for line in done.stdout.splitlines()] != there:
                fail(what, "is read by 0.1 as another path:", done.stdout)
            frames = frames_of(value)
            if any("cached" in frame for frame in frames):
                fail(what, "takes an old path for one of a cache")
            if wanted & frames:
                break
        else:
            fail(what, "lacks the frames of its callee:", frames)


def main():
    kept = kept_frames()
    old_leaf = start_old("old-leaf")
    for number, kind in enumerate(KINDS.names):
        other = KINDS.names[(number + 1) % len(KINDS.names)]
        leaf = KINDS.start(other, "leaf", "Z")
        old_hop = start_old("old-hop-%s" % kind, leaf)
        hop = KINDS.start(other, "hop", "Y", old_leaf)
        new_hop = KINDS.start(other, "hop", "Y", leaf)
        check("%s -> old -> %s" % (kind, other), KINDS.start(kind, "entry", "X", old_hop), kept)
        check("%s -> %s -> old" % (kind, other), KINDS.start(kind, "entry", "X", hop), kept)
        check("%s -> old" % kind, KINDS.start(kind, "entry", "X", old_leaf), kept)
        check("%s -> %s -> %s" % (kind, other, other), KINDS.start(kind, "entry", "X", new_hop),
              {"Z: nap"})
        read = [line.split() for line in output("old-hop-%s" % kind).splitlines()
                if line.startswith("read ")]
        if not read or any(nonce_of(words[2]) for words in read):
            fail("what 0.1 gets of", other, "has a nonce, or none came:", read)
        print("%s and %s with 0.1: all is well" % (kind, other), flush=True)
    print("all is well")


main()
