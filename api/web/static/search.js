// Filters the list of rules while one types: the server finds, as it does for the form without JavaScript.
"use strict";
(function () {
  const PAUSE = 120;
  const form = document.getElementById("search");
  let waiting, latest = 0;
  async function find() {
    const mine = ++latest;
    const address = new URL(location.href);
    const asked = form.elements.q.value.trim();
    address.hash = "";
    address.searchParams.delete("q");
    if (asked) address.searchParams.set("q", asked);
    const answer = await fetch(address, { headers: { Accept: "text/html" } });
    if (!answer.ok || mine !== latest) return; // an older answer must not replace a newer one
    const page = new DOMParser().parseFromString(await answer.text(), "text/html");
    if (mine !== latest) return;
    document.getElementById("found").replaceWith(document.adoptNode(page.getElementById("found")));
    document.getElementById("count").textContent = page.getElementById("count").textContent;
    document.querySelector(".end a").href = page.querySelector(".end a").href; // the same in the other language
    history.replaceState(null, "", address);
  }
  form.elements.q.addEventListener("input", () => {
    clearTimeout(waiting);
    waiting = setTimeout(() => find().catch(() => {}), PAUSE);
  });
})();
