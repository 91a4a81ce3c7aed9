"""The Flask application: it remembers what agents report, judges it, and answers why.

`app.create_app(settings)` makes it. server.py and gateway.py bring requests in, front.py takes the reports
among them; reports/ stores these, judging/ knows and judges the nodes, store/ is what is remembered, and
clockwork.py does what is due by the clock. access.py says who may do what; resources/ has a blueprint per
resource, endpoints.py the table of them, places.py whom a question means, answers.py what they answer,
problems.py how they refuse, web/ the pages, words/ the sentences. commands.py joins the command line.
Imports gpudiag, never bot.
"""
