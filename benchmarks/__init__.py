"""What is measured, against whom, with one command each; `python -m benchmarks` runs them all, shortly.

Ratios are taken in one run, beside a yardstick (an empty Flask endpoint, an empty Bolt app, other tools as
libraries, `python -c pass`), so that they hold on any machine. No test has a clock in it.
"""
