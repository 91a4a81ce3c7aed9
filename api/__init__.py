"""The Flask application: it remembers what agents report, judges it, and answers why.

`app.create_app(settings)` makes it. resources/ has a blueprint per resource, store/ what is remembered, web/
the pages. front.py takes reports, writer.py stores them in turns.py's order, judge.py holds the windows and
feed.py what changed in them. Imports gpudiag, never bot.
"""
