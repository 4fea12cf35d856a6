#!/usr/bin/python3 -I
# SPDX-License-Identifier: Apache-2.0
"""model.py --pinfold PATH --dir DIR --steps N --seed N [--uid N --gid N]: draws random sequences of
what can happen to workspaces, does the same to plain directories, and compares: the whole tree as it is
seen from inside, and the whole history. Prints what differs and the way there; exits 1 then.

The calls are made as users make them, one right behind the other, so that what settles behind one runs
beside the next.
"""
import argparse
import json
import os
import pathlib
import random
import shutil
import subprocess
import sys

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE))
os.environ.update(TIMES="0", LINKS="0", OWNERS="0", BLOCKS="0")
import listing  # noqa: E402
import operations  # noqa: E402

WORKSPACES_MAX = 4
NAMES = ["a", "b", "c", "d", "new\nline", "é", "x" * 40]
COMPARE_EVERY = 4
PATIENCE = 120  # seconds: longer than that is for ever


class Different(Exception):
    pass


class Workspace:
    """One of the model: its snapshots by number, each with a tree of its own."""

    def __init__(self, kind, tree):
        self.seq, self.head = 1, 1
        self.snaps = {1: {"kind": kind, "before": 0, "tree": tree, "label": None, "undone": False}}

    def tree(self):
        return self.snaps[self.head]["tree"]

    def append(self, kind, tree, label=None):
        self.seq += 1
        self.snaps[self.seq] = {"kind": kind, "before": self.head, "tree": tree, "label": label,
                                "undone": False}
        self.head = self.seq

    def undo_target(self, count):
        at = self.head
        while count > 0:
            if not self.snaps[at]["before"]:
                return None
            count -= self.snaps[at]["kind"] != "snap"
            at = self.snaps[at]["before"]
        return at

    def undo(self, to):
        self.head = to
        for number, snap in self.snaps.items():
            if number > to:
                snap["undone"] = True

    def forget(self, last):
        """What is before the last commands goes, but for what has a label."""
        counted = [n for n, s in sorted(self.snaps.items()) if not s["undone"]]
        commands = [n for n in counted if self.snaps[n]["kind"] != "snap"]
        limit = commands[-last:][0] if last else self.seq + 1
        base = max((n for n in counted if n < limit), default=0)
        gone = [n for n, s in self.snaps.items() if n < base and not s["label"] and n != self.head]
        for n in gone:
            del self.snaps[n]
        for n, s in self.snaps.items() if gone else ():
            s["kind"] = "base" if n == base else s["kind"]
            s["before"] = s["before"] if n > base and s["before"] in self.snaps else 0

    def forget_undone(self):
        self.snaps = {n: s for n, s in self.snaps.items()
                      if not s["undone"] or s["label"] or n == self.head}

    def rows(self):
        return [(n, s["kind"], s["label"], s["undone"], n == self.head)
                for n, s in sorted(self.snaps.items(), reverse=True)]


class Model:
    gc_share = 6  # of what happens

    def __init__(self, args):
        self.args = args
        self.random = random.Random(args.seed)
        self.dir = pathlib.Path(args.dir)
        self.workspaces = {}
        self.trees = self.labels = self.names = 0
        self.history = []

    # --- both sides

    def start(self, words):
        who = {} if self.args.uid is None else {
            "user": self.args.uid, "group": self.args.gid, "extra_groups": []}
        return subprocess.Popen([self.args.pinfold, *words], stdin=subprocess.DEVNULL,
                                stdout=subprocess.PIPE, stderr=subprocess.PIPE, cwd="/", **who)

    @staticmethod
    def end_of(call):
        try:
            return call.communicate(timeout=PATIENCE)
        except subprocess.TimeoutExpired as e:
            stack = pathlib.Path(f"/proc/{call.pid}/stack")
            raise Different(f"hung: {call.args[1:]}: {stack.read_text()}") from e

    def pinfold(self, *words, fails=False):
        done = self.start(words)
        out, err = self.end_of(done)
        self.history.append((words, done.returncode))
        if (done.returncode != 0) != fails:
            raise Different(f"status {done.returncode}: {err.decode(errors='replace')}")
        return out.decode()

    def number(self, said, want, what):
        """Of a verb that prints where the workspace stands; one that was killed printed nothing."""
        if said is not None:
            self.expect(int(said), want, what)

    def new_tree(self, of=None):
        """Links of a frozen layer do not outlive a write: each file of a copy is its own."""
        self.trees += 1
        path = self.dir / str(self.trees)
        if of is None:
            path.mkdir()
        else:
            subprocess.run(["cp", "-a", "--no-preserve=links", str(of), str(path)], check=True)
        return path

    def expect(self, got, want, what):
        if got != want:
            lines = [f"only {side}: {row}" for side, one, other in (("there", got, want),
                     ("in the model", want, got)) for row in one if row not in other] \
                if isinstance(got, list) else [f"got {got!r}, want {want!r}"]
            raise Different(f"{what}:\n" + "\n".join(lines[:20]))

    def compare(self, name):
        w = self.workspaces[name]
        found = self.pinfold("exec", "--env", "TIMES=0", "--env", "LINKS=0", "--env", "OWNERS=0",
                             "--env", "BLOCKS=0", name, "--lang", "python", "-c", (HERE / "listing.py").read_text())
        at = os.getcwd()
        os.chdir(w.tree())
        want = listing.listing(["."])
        os.chdir(at)
        self.expect(found.splitlines(), want, f"the files of {name}")
        w.append("exec", w.tree())
        self.expect(self.log(name), w.rows(), f"the log of {name}")

    def log(self, name):
        rows = json.loads(self.pinfold("log", "--json", "--all", name))["items"]
        return [(r["snapshot"], r["kind"], r["label"], r["undone"], r["current"]) for r in rows]

    # --- what can happen

    def path(self):
        return "/".join(self.random.choice(NAMES) for _ in range(self.random.choice((1, 1, 2, 2, 3))))

    def operation(self, links):
        r = self.random
        kind = r.choices(["write", "append", "mkdir", "remove", "anew", "symlink", "chmod", "attribute",
                          "truncate", "link" if links else "move"],
                         [6, 3, 6, 4, 2, 2, 2, 1, 1, 4])[0]
        extra = {"write": [f"{r.random()}\n"], "append": [f"{r.random()}\n"], "attribute": ["note"],
                 "chmod": [r.choice((0o644, 0o600, 0o755, 0o711, 0o777))], "move": [self.path()],
                 "symlink": [r.choice(NAMES)], "link": [r.choice(NAMES)], "truncate": [r.choice((0, 3, 5000))]}
        return [kind, self.path(), *extra.get(kind, [])]

    def do_exec(self, name):
        w = self.workspaces[name]
        links = self.random.random() < 0.3
        todo = [self.operation(links) for _ in range(self.random.randint(1, 12))]
        words = ["exec", "--json", name, "--lang", "python", "-c", (HERE / "operations.py").read_text(), json.dumps(todo)]
        said = self.pinfold(*words)
        tree = self.new_tree(w.tree())
        at = os.getcwd()
        os.chdir(tree)
        operations.apply(todo)
        os.chdir(at)
        w.append("exec", tree)
        self.number(said and json.loads(said)["snapshot"], w.head, "the number of a command")

    def do_many(self, name):
        """Layers enough that they are merged."""
        for _ in range(self.random.randint(5, 10)):
            self.do_exec(name)

    def do_push(self, name):
        """From one place of the host's, which has what any snapshot had."""
        w, source = self.workspaces[name], self.dir.parent / "pushed"
        tree = self.random.choice(list(self.random.choice(list(self.workspaces.values())).snaps.values()))["tree"]
        self.own_copy(tree, source)
        said = self.pinfold("push", "--json", "--mirror", name, str(source))
        w.append("push", self.pushed_tree(w.tree(), source))
        self.number(said and json.loads(said)["snapshot"], w.head, "the number of a push")

    def own_copy(self, tree, to):
        """The caller's own, as one that he may read has to be."""
        shutil.rmtree(to, ignore_errors=True)
        subprocess.run(["cp", "-a", "--no-preserve=links,xattr", str(tree), str(to)], check=True)
        if self.args.uid is not None:
            subprocess.run(["chown", "-hR", f"{self.args.uid}:{self.args.gid}", str(to)], check=True)

    def pushed_tree(self, before, source):
        """Attributes do not travel, and stay with what stays."""
        tree = self.new_tree(source)
        if self.args.uid is not None:
            subprocess.run(["chown", "-hR", "0:0", str(tree)], check=True)
        for path in listing.walk(os.fsencode(tree)):
            was = os.path.join(os.fsencode(before), os.path.relpath(path, os.fsencode(tree)))
            if os.path.islink(path) or os.path.islink(was) or not os.path.lexists(was):
                continue
            if os.path.isdir(path) and os.path.isdir(was) or os.path.isfile(path) and os.path.isfile(was) \
                    and listing.content(path) == listing.content(was):
                for x in os.listxattr(was):
                    os.setxattr(path, x, os.getxattr(was, x))
        return tree

    def rows_of(self, tree):
        at = os.getcwd()
        os.chdir(tree)
        rows = {os.fsdecode(p): listing.line(p, os.lstat(p), {}) for p in listing.walk(b".")}
        os.chdir(at)
        return rows

    def do_diff(self, name):
        w = self.workspaces[name]
        (a, one), (b, two) = self.any_snapshot(w), self.any_snapshot(w)
        before, after = (self.rows_of(w.snaps[n]["tree"]) for n in (a, b))
        want = sorted(("/home/user" + p[1:], "added" if p not in before else "deleted" if p not in after else "modified")
                      for p in before.keys() | after.keys() if before.get(p) != after.get(p))
        said = self.pinfold("diff", "--json", "--names", name, one, two)
        self.expect(sorted((c["path"], c["change"]) for c in json.loads(said)["items"]), want,
                    f"what differs between {a} and {b} of {name}")

    def do_copy(self, name):
        w, out = self.workspaces[name], self.dir.parent / "copied"
        number, word = self.any_snapshot(w)
        shutil.rmtree(out, ignore_errors=True)
        out.mkdir()
        if self.args.uid is not None:
            os.chown(out, self.args.uid, self.args.gid)
        if self.pinfold("cp", "--at", word, f"{name}:/home/user", str(out)) is not None:
            self.expect(list(self.rows_of(out / "user").values()), list(self.rows_of(w.snaps[number]["tree"]).values()),
                        f"a copy of {number} of {name}")

    def do_snap(self, name):
        w, label = self.workspaces[name], None
        if self.random.random() < 0.5:
            self.labels += 1
            label = f"mark-{self.labels}"
        said = self.pinfold("snap", name, *([label] if label else []))
        w.append("snap", w.tree(), label)
        self.number(said, w.head, "the number of a snapshot")

    def do_undo(self, name, count=0):
        w, count = self.workspaces[name], count or self.random.choice((1, 1, 1, 2, 3))
        to = w.undo_target(count)
        said = self.pinfold("undo", name, str(count), fails=to is None)
        if to is not None:
            w.undo(to)
            self.number(said, to, "where undo leads")

    def any_snapshot(self, w):
        number = self.random.choice(list(w.snaps))
        label = w.snaps[number]["label"]
        return number, label if label and self.random.random() < 0.5 else str(number)

    def do_rollback(self, name):
        w = self.workspaces[name]
        number, word = self.any_snapshot(w)
        said = self.pinfold("rollback", name, word)
        w.append("rollback", w.snaps[number]["tree"])
        self.number(said, w.head, "the number of a rollback")

    def do_fork(self, name):
        if len(self.workspaces) >= WORKSPACES_MAX:
            self.do_rm(self.random.choice(list(self.workspaces)))
            return
        w = self.workspaces[name]
        self.names += 1
        twin = f"w{self.names}"
        if self.random.random() < 0.5:
            number, word = self.any_snapshot(w)
            self.pinfold("fork", "--at", word, name, twin)
        else:
            number = w.head
            self.pinfold("fork", name, twin)
        self.workspaces[twin] = Workspace("fork", w.snaps[number]["tree"])

    def do_gc(self, name):
        w, last, undone = self.workspaces[name], self.random.randrange(5), self.random.random() < 0.5
        self.pinfold("gc", "--history", "1ms", "--last", str(last), *(["--undone"] if undone else []),
                     name)
        w.forget(last)
        if undone:
            w.forget_undone()

    def do_rm(self, name):
        self.pinfold("rm", name)
        del self.workspaces[name]

    def do_new(self):
        self.names += 1
        self.pinfold("new", f"w{self.names}")
        self.workspaces[f"w{self.names}"] = Workspace("new", self.new_tree())
        return f"w{self.names}"

    def act(self):
        """Something happens to one of them; returns which."""
        if not self.workspaces:
            return self.do_new()
        name = self.random.choice(list(self.workspaces))
        what = self.random.choices([self.do_exec, self.do_snap, self.do_undo, self.do_rollback,
                                    self.do_fork, self.do_rm, self.do_push, self.do_diff, self.do_copy,
                                    self.do_many, self.do_gc],
                                   [45, 8, 10, 8, 8, 3, 7, 8, 4, 2, self.gc_share])[0]
        what(name)
        return name

    def step(self, i):
        name = self.act()
        if i % COMPARE_EVERY == 0 and name in self.workspaces:
            self.compare(name)
        self.forget_trees()

    def forget_trees(self):
        kept = {s["tree"] for w in self.workspaces.values() for s in w.snaps.values()}
        for path in set(self.dir.iterdir()) - kept:
            shutil.rmtree(path)

    def run(self):
        self.do_new()
        for i in range(1, self.args.steps + 1):
            self.step(i)
        for name in list(self.workspaces):
            self.compare(name)
        for name in list(self.workspaces):
            self.pinfold("rm", name)


def main(kind=Model):
    parser = argparse.ArgumentParser()
    for name in ("--pinfold", "--dir"):
        parser.add_argument(name, required=True)
    for name in ("--steps", "--seed", "--uid", "--gid"):
        parser.add_argument(name, type=int)
    model = kind(parser.parse_args())
    os.umask(0o022)
    try:
        model.run()
    except Different as e:
        print(f"seed {model.args.seed}, call {len(model.history)}: {e}\nthe last calls:")
        for words, status in model.history[-6:]:
            print(status, " ".join(words)[:600])
        return 1
    print(f"{len(model.history)} calls")
    return 0


if __name__ == "__main__":
    sys.exit(main())
