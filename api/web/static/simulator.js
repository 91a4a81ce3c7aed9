// The simulator's script draws; every number comes from the server. Without it the buttons load the page anew.
"use strict";
(function () {
  const sim = document.getElementById("sim");
  const form = document.getElementById("controls");
  const past = []; // one [utilization, memory] a second, oldest first
  const KEPT = 60;
  let shown = null;
  let second = 0;
  let asked = 0;

  const $ = (id) => document.getElementById(id);

  async function ask(press) {
    const query = new URLSearchParams(new FormData(form));
    query.set("lang", sim.dataset.lang);
    if (press) query.set("press", press);
    const mine = ++asked;
    const answer = await fetch(sim.dataset.stateUrl + "?" + query);
    if (answer.redirected) return location.reload(); // the login has ended
    const state = await answer.json();
    if (mine !== asked) return;
    $("problem").hidden = !state.problem;
    $("problem").textContent = state.problem || "";
    if (!state.problem) show(state, press !== undefined);
  }

  // The button that takes over when the pressed one is no longer there, so that the keyboard keeps its place.
  const NEXT = { "b-load": "b-unload", "b-unload": "b-load", "b-reserve": "b-release", "b-release": "b-reserve", "b-finish": "b-send" };

  function show(state, keep) {
    const held = document.activeElement;
    shown = state;
    second = 0;
    $("scene").innerHTML = state.page;
    $("bar").innerHTML = state.bar;
    $("parts").innerHTML = state.parts;
    for (const name of ["loaded", "reserved", "sent"]) form.elements[name].value = state.state[name];
    const loaded = state.state.loaded === "1", reserved = state.state.reserved === "1";
    $("b-load").hidden = loaded;
    $("b-unload").hidden = !loaded;
    $("b-reserve").hidden = reserved;
    $("b-release").hidden = !reserved;
    $("b-send").disabled = !loaded;
    $("b-finish").disabled = state.state.sent === "0";
    if (held && NEXT[held.id] && (held.hidden || held.disabled)) $(NEXT[held.id]).focus();
    $("link").href = state.link;
    const full = document.documentElement.classList.contains("full");
    $("full").href = full ? state.link : state.link + "&full=1";
    if (keep) history.replaceState(null, "", full ? state.link + "&full=1" : state.link);
    tick();
  }

  // One second: the next sample of the state goes to the end of the curves.
  function tick() {
    if (!shown) return;
    past.push(shown.samples[second++ % shown.samples.length]);
    while (past.length > KEPT) past.shift();
    for (const svg of $("timeline").querySelectorAll("svg")) draw(svg);
  }

  function draw(svg) {
    const line = svg.querySelector("path.s-line"), area = svg.querySelector("path.c-area"), edge = svg.querySelector("path.s-edge");
    if (!line || !area || !edge) return;
    const grid = [...svg.querySelectorAll("line.s-grid")].map((rule) => ["x1", "x2", "y1"].map((name) => +rule.getAttribute(name)));
    const [left, right, bottom] = grid[0], top = grid[grid.length - 1][2]; // 0 % is drawn first, 100 % last
    const x = (i) => (left + ((right - left) * (i + KEPT - past.length)) / (KEPT - 1)).toFixed(1);
    const y = (percent) => (bottom - ((bottom - top) * Math.min(100, Math.max(0, percent))) / 100).toFixed(1);
    const path = (column) => "M" + past.map((row, i) => x(i) + " " + y(row[column])).join("L");
    line.setAttribute("d", path(0));
    edge.setAttribute("d", path(1));
    area.setAttribute("d", path(1) + "L" + x(past.length - 1) + " " + bottom + "L" + x(0) + " " + bottom + "Z");
  }

  form.addEventListener("submit", (event) => {
    event.preventDefault();
    const press = event.submitter && event.submitter.value ? event.submitter.value : "";
    ask(press).catch(() => form.submit());
  });
  for (const name of ["model", "gpu", "engine", "gpu_memory_utilization", "tokens", "requests"]) {
    form.elements[name].addEventListener("change", () => ask("").catch(() => {}));
  }
  $("full").addEventListener("click", (event) => {
    const root = document.documentElement;
    if (!root.requestFullscreen || root.classList.contains("full")) return;
    event.preventDefault();
    root.requestFullscreen().catch(() => { location.href = $("full").href; });
  });
  document.addEventListener("fullscreenchange", () => {
    document.documentElement.classList.toggle("fullscreen", Boolean(document.fullscreenElement));
  });
  ask().then(() => {
    for (let i = 0; i < KEPT - 1 && shown; i++) past.push(shown.samples[i % shown.samples.length]);
    tick();
    setInterval(tick, 1000);
  });
})();
