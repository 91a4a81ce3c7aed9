// Keeps a page current: every ten seconds the part called "live" is fetched again and put in place.
// What the reader has opened stays open. Without JavaScript the page is simply as old as it says.
"use strict";
(function () {
  const EVERY = 10000;
  async function refresh() {
    if (document.hidden) return;
    const live = document.getElementById("live");
    const answer = await fetch(location.href, { headers: { Accept: "text/html" } });
    if (!answer.ok || answer.redirected) return;
    const fresh = new DOMParser().parseFromString(await answer.text(), "text/html").getElementById("live");
    if (!fresh || live.contains(document.activeElement) || String(getSelection())) return;
    for (const details of live.querySelectorAll("details[id]")) {
      const same = fresh.querySelector("#" + CSS.escape(details.id));
      if (same) same.open = details.open;
    }
    live.replaceWith(document.adoptNode(fresh));
  }
  setInterval(() => refresh().catch(() => {}), EVERY);
})();
