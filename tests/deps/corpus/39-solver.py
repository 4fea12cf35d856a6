# needs: z3-solver ortools
from ortools.linear_solver import pywraplp
from z3 import Int, Solver

x = Int("x")
s = Solver()
s.add(x > 1)
print(s.check(), pywraplp)
