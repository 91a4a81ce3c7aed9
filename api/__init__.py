"""The Flask application: it remembers what agents report, judges it, and answers why.

`app.create_app(settings)` makes it. resources/ has a blueprint per resource, store/ what is remembered, web/
the pages. server.py and gateway.py bring requests in, front.py takes the reports among them, writer.py stores
them in turns.py's order, judge.py holds the windows (shared.py beside other servers), feed.py what changed in
them, and clockwork.py does what is due by the clock. Imports gpudiag, never bot.
"""
