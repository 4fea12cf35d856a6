import random
import tempfile
import time
import unittest

class Stack(list):
    def peek(self):
        return self[-1]

class Tests(unittest.TestCase):
    def test_peek(self):
        s = Stack([1, random.random()])
        self.assertEqual(s.peek(), s[-1])
    def test_file(self):
        with tempfile.NamedTemporaryFile("w+") as f:
            f.write("x")
            f.flush()
            print(f.name)
            self.assertEqual(open(f.name).read(), "x")
    def test_time(self):
        self.assertGreater(time.perf_counter(), 0)
    def test_fails(self):
        self.assertEqual(id(self), 0)

unittest.main(verbosity=2)
