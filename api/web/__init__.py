"""The web pages: the fleet, a node, the runbooks, the calculator and the simulator, as one Flask blueprint.

`pages(answers)` makes it; `answers` is what the pages ask (see `asked.Answers`), given by the application.
No build step, no request to anywhere else, readable without JavaScript. Imports gpudiag, never the store or
the bot. To add a page: a function in views.py and a template.
"""

from api.web.asked import Answers, Chat
from api.web.views import error_page, pages

__all__ = ["Answers", "Chat", "error_page", "pages"]
