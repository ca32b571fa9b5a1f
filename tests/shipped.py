"""The shipped tables, read once in a process: together they take 0.3 s, and fifty modules of tests look into them."""

from functools import cache

from gpudoctor.matrix_files import open_matrix

shared_matrix = cache(open_matrix)
