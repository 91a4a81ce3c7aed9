"""Situations and their look-alikes, played through the real agent: `python -m tests.scenarios`.

The driver is the C double below the real bindings, /proc, /sys and the kernel log are a tree of files, an
engine is a page served on loopback, and the clock steps on as soon as everybody waits. To add a scenario:
write a function under stories/ with `@scenario`, and its look-alike beside it. How several stories begin (a
training, a server, a notebook) has its home in host.py.
"""
