"""The Flask application: it remembers what agents report, judges it, and answers why.

`app.create_app(settings)` makes it. resources/ has a blueprint per resource, store/ what is remembered, web/
the pages; judge.py holds the windows, writer.py is the one thread that writes. Imports gpudiag, never bot.
"""
