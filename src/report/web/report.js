// Copyright (c) the mlo authors. BSD-3-Clause.
// Sorting, searching and drawing. The page is complete without it: tables and pictures are in the HTML.
"use strict";
(() => {
  const $ = (id) => document.getElementById(id);
  const make = (tag, cls, text) => {
    const e = document.createElement(tag);
    if (cls) e.className = cls;
    if (text !== undefined) e.textContent = text;
    return e;
  };
  const show = (attribute) => {
    for (const e of document.querySelectorAll(`[${attribute}]`)) e.hidden = false;
  };
  show("data-needs-script");

  // ---- light and dark: as the system says, or as the reader chooses
  const redraws = [];
  const redraw = () => { for (const f of redraws) f(); };
  const themes = ["auto", "light", "dark"];
  let theme = 0;
  $("theme").addEventListener("click", () => {
    theme = (theme + 1) % themes.length;
    $("theme").textContent = `Theme: ${themes[theme]}`;
    if (theme === 0) delete document.documentElement.dataset.theme;
    else document.documentElement.dataset.theme = themes[theme];
    redraw();
  });
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", redraw);

  // ---- the section that is being read
  const links = new Map([...document.querySelectorAll("nav a")].map((a) => [a.getAttribute("href").slice(1), a]));
  const sections = [...document.querySelectorAll("main > section")];
  const mark = () => {
    let current = sections[0];
    for (const s of sections) if (s.getBoundingClientRect().top < 120) current = s;
    for (const [id, a] of links) {
      if (id !== current.id) a.removeAttribute("aria-current");
      else if (!a.hasAttribute("aria-current")) {
        a.setAttribute("aria-current", "true");
        const list = a.closest("ul");
        list.scrollLeft = a.parentElement.offsetLeft - list.offsetLeft - list.clientWidth / 3;
      }
    }
  };
  addEventListener("scroll", () => requestAnimationFrame(mark), { passive: true });
  mark();

  // ---- the table: sorted by a column, searched by name
  const table = $("table"), body = table.tBodies[0];
  const rows = [...body.rows];
  const number = (text) => (text === "–" ? NaN : Number(text.replaceAll(",", "")));
  const headers = [...table.tHead.rows[0].cells];
  headers.forEach((th, column) => {
    if (!th.hasAttribute("data-sort")) return;
    const button = make("button", "", th.textContent);
    button.type = "button";
    th.textContent = "";
    th.append(button);
    button.addEventListener("click", () => {
      const order = th.getAttribute("aria-sort");
      // Up, down, and back to the order of the model.
      const next = order === null ? "ascending" : order === "ascending" ? "descending" : null;
      for (const other of headers) other.removeAttribute("aria-sort");
      let sorted = rows;
      if (next) {
        th.setAttribute("aria-sort", next);
        const sign = next === "ascending" ? 1 : -1;
        const keyed = rows.map((row, j) => [column === 0 ? row.cells[0].textContent : number(row.cells[column].textContent), j]);
        keyed.sort((a, b) => {
          if (column === 0) return sign * a[0].localeCompare(b[0], undefined, { numeric: true }) || a[1] - b[1];
          if (isNaN(a[0]) || isNaN(b[0])) return isNaN(a[0]) - isNaN(b[0]) || a[1] - b[1];  // last, up or down
          return sign * (a[0] - b[0]) || a[1] - b[1];
        });
        sorted = keyed.map((pair) => rows[pair[1]]);
      }
      body.append(...sorted);
    });
  });
  const names = rows.map((row) => row.cells[0].textContent.toLowerCase());
  $("table-search").addEventListener("input", (event) => {
    const wanted = event.target.value.trim().toLowerCase();
    let count = 0;
    rows.forEach((row, j) => {
      row.hidden = !names[j].includes(wanted);
      if (!row.hidden) ++count;
    });
    $("table-count").textContent =
      wanted ? `${count} of ${rows.length} parameters` : `${rows.length} parameter${rows.length === 1 ? "" : "s"}`;
  });

  if ($("copy"))
    $("copy").addEventListener("click", async () => {
      const text = $("command").textContent;
      try {
        await navigator.clipboard.writeText(text);
      } catch {  // a page from a file may not be allowed to
        getSelection().selectAllChildren($("command"));
        document.execCommand("copy");
      }
      $("copy").textContent = "Copied";
      setTimeout(() => { $("copy").textContent = "Copy"; }, 1500);
    });

  // ---- charts
  const data = JSON.parse($("data").textContent);
  if (data === null || typeof uPlot === "undefined" || !$("cards")) return;
  show("data-needs-charts");

  const words = (text) => {
    const bytes = atob(text), out = new Uint16Array(bytes.length / 2);
    for (let k = 0; k < out.length; ++k) out[k] = bytes.charCodeAt(2 * k) | (bytes.charCodeAt(2 * k + 1) << 8);
    return out;
  };
  const value = (word, low, high) => (word === 0 ? null : low + ((word - 1) / 65534) * (high - low));
  const P = data.parameters, chains = data.chains, kept = Math.ceil(data.draws / data.stride);
  const drawWords = words(data.draw_words), curveWords = words(data.curve_words);
  const priorWords = words(data.prior_words), rankWords = words(data.rank_words);
  let curves = 0, priors = 0;  // where each parameter's curves begin
  for (const p of P) {
    if (p.curve) p.curveAt = curves++ * data.points;
    if (p.drawn_prior) p.priorAt = priors++ * data.points;
  }
  const drawsOf = (j, chain) => {
    const out = new Array(kept), from = (j * chains + chain) * kept;
    for (let k = 0; k < kept; ++k) out[k] = value(drawWords[from + k], P[j].low, P[j].high);
    return out;
  };

  // Canvases need plain colours; the style sheet's depend on the theme.
  const probe = document.body.appendChild(make("span"));
  probe.hidden = true;
  const colour = (name) => {
    probe.style.color = `var(--${name})`;
    return getComputedStyle(probe).color;
  };
  const faint = (c, share) => c.replace("rgb(", "rgba(").replace(")", `, ${share})`);
  const chainColour = (c) => colour(`chain-${(c % 4) + 1}`);
  const plain = (v) => {
    if (v === null || v === undefined || !isFinite(v)) return "–";
    const size = Math.abs(v);
    return size !== 0 && (size >= 1e6 || size < 1e-4) ? v.toExponential(2) : String(+v.toPrecision(4));
  };
  const axis = (more) => ({
    stroke: colour("quiet"), font: "11px system-ui, sans-serif", size: 30, gap: 4,
    grid: { stroke: colour("line"), width: 1 }, ticks: { stroke: colour("line"), width: 1, size: 4 },
    values: (u, ticks) => ticks.map((t) => (t === null ? "" : plain(t))), ...more,
  });
  const yAxis = (more) => axis({ size: (u, ticks) => 14 + 6.2 * Math.max(1, ...(ticks || []).map((t) => t.length)), ...more });
  const height = 190;
  // A name beside an axis: uPlot would cut both ends off one that is too long. Its middle says least.
  const shortened = (name, pixels) => {
    const letters = Math.max(8, Math.floor(pixels / 6.8));
    if (name.length <= letters) return name;
    const first = Math.floor((letters - 1) / 2);
    return `${name.slice(0, first)}…${name.slice(name.length - (letters - 1 - first))}`;
  };

  const density = (j, width) => {
    const p = P[j];
    if (!p.curve) return null;
    const [low, high, top] = p.curve, n = data.points;
    const x = Array.from({ length: n }, (_, k) => low + ((high - low) * k) / (n - 1));
    const series = [{}, { label: "posterior", stroke: colour("posterior"), width: 2, fill: faint(colour("posterior"), 0.16) }];
    const columns = [x, x.map((_, k) => value(curveWords[p.curveAt + k], 0, top))];
    if (p.laplace) {
      const [mean, sd] = p.laplace;
      columns.push(x.map((v) => Math.exp(-0.5 * ((v - mean) / sd) ** 2) / (sd * Math.sqrt(2 * Math.PI))));
      series.push({ label: "Laplace", stroke: colour("laplace"), width: 1.5, dash: [5, 4] });
    }
    if (p.drawn_prior) {
      columns.push(x.map((_, k) => value(priorWords[p.priorAt + k], 0, top)));
      series.push({ label: "prior", stroke: colour("prior"), width: 1.5 });
    }
    for (const s of series.slice(1)) s.points = { show: false };
    return [{
      width, height, series, padding: [8, 14, 0, 14],
      scales: { x: { time: false }, y: { range: (u, least, most) => [0, most * 1.06] } },
      axes: [axis({ space: 60 }), { show: false }], cursor: { y: false, drag: { x: false, y: false } },
    }, columns];
  };
  const trace = (j, width) => {
    const x = Array.from({ length: kept }, (_, k) => 1 + k * data.stride);
    const series = [{}], columns = [x];
    for (let c = 0; c < chains; ++c) {
      columns.push(drawsOf(j, c));
      series.push({ label: `chain ${c + 1}`, stroke: faint(chainColour(c), 0.8), width: 1, points: { show: false } });
    }
    return [{
      width, height, series, padding: [8, 18, 0, 0], scales: { x: { time: false } },
      axes: [axis({ space: 70 }), yAxis({ space: 34 })],
      cursor: { drag: { x: true, y: true, uni: 30 }, points: { size: 5 } },
    }, columns];
  };
  const rank = (j, width) => {
    const bins = data.bins, x = Array.from({ length: bins + 1 }, (_, k) => k / bins);
    const series = [{}, { label: "expected", stroke: colour("rule"), width: 1, dash: [4, 4], points: { show: false } }];
    const columns = [x, x.map(() => data.draws / bins)];
    for (let c = 0; c < chains; ++c) {
      const from = (j * chains + c) * bins;
      columns.push(x.map((_, k) => rankWords[from + Math.min(k, bins - 1)]));
      series.push({ label: `chain ${c + 1}`, stroke: chainColour(c), width: 1.5, paths: uPlot.paths.stepped({ align: 1 }), points: { show: false } });
    }
    return [{
      width, height, series, padding: [8, 18, 0, 0],
      scales: { x: { time: false }, y: { range: (u, least, most) => [0, most * 1.15] } },
      axes: [axis({ values: (u, ticks) => ticks.map((t) => (t === 0 ? "low" : t === 1 ? "high" : "")), splits: [0, 0.25, 0.5, 0.75, 1] }),
        yAxis({ space: 34 })],
      cursor: { y: false, drag: { x: false, y: false } },
    }, columns];
  };
  const scatter = ([a, b, r], width) => {
    const points = [];
    for (let c = 0; c < chains; ++c) {
      const x = drawsOf(a, c), y = drawsOf(b, c);
      for (let k = 0; k < kept; ++k) if (x[k] !== null && y[k] !== null) points.push([x[k], y[k]]);
    }
    // At most some thousand: more are one dark cloud.
    const every = Math.max(1, Math.floor(points.length / 2000));
    const some = points.filter((_, k) => k % every === 0).sort((p, q) => p[0] - q[0]);
    const stroke = faint(colour("posterior"), 0.45);
    return [{
      width, height: 250, padding: [8, 18, 0, 0], scales: { x: { time: false } },
      series: [{}, { label: P[b].name, stroke, paths: () => null, points: { show: true, size: 3, width: 0, fill: stroke, space: 0 } }],
      axes: [axis({ space: 60, label: shortened(P[a].name, width - 60), labelSize: 18, labelGap: 0, labelFont: "12px system-ui, sans-serif" }),
        yAxis({ space: 40, label: shortened(P[b].name, 190), labelSize: 18, labelGap: 2, labelFont: "12px system-ui, sans-serif" })],
      cursor: { drag: { x: true, y: true, uni: 30 } },
    }, [some.map((p) => p[0]), some.map((p) => p[1])]];
  };

  // Keys for readers without a mouse.
  const keyboard = (element, plot) => {
    element.tabIndex = 0;
    element.addEventListener("keydown", (event) => {
      const { min, max } = plot.scales.x, x = plot.data[0], width = max - min;
      const first = x[0], last = x[x.length - 1];
      const set = (low, high) => {
        plot.setScale("x", { min: Math.max(first, low), max: Math.min(last, high) });
        event.preventDefault();
      };
      if (event.key === "+" || event.key === "=") set(min + width / 4, max - width / 4);
      else if (event.key === "-") set(min - width / 2, max + width / 2);
      else if (event.key === "ArrowLeft") { const by = Math.min(width / 4, min - first); set(min - by, max - by); }
      else if (event.key === "ArrowRight") { const by = Math.min(width / 4, last - max); set(min + by, max + by); }
      else if (event.key === "0" || event.key === "Escape") set(first, last);
    });
  };

  const drawn = new Map();  // element: chart
  const draw = (element) => {
    drawn.get(element)?.destroy();
    drawn.delete(element);
    element.textContent = "";
    const parts = element.recipe(Math.max(120, element.clientWidth));
    if (parts === null) {
      element.append(make("p", "note", "All draws are alike."));
      return;
    }
    const plot = new uPlot(parts[0], parts[1], element);
    drawn.set(element, plot);
    if (element.zooms) {
      element.plot = plot;
      if (!element.hasKeys) {
        // The chart may be drawn anew: keys go to the latest.
        keyboard(element, { get scales() { return element.plot.scales; }, get data() { return element.plot.data; },
          setScale: (...a) => element.plot.setScale(...a) });
        element.hasKeys = true;
      }
    }
  };
  // Charts are drawn when they come near the screen.
  const near = new IntersectionObserver((entries) => {
    for (const e of entries) if (e.isIntersecting && !drawn.has(e.target)) draw(e.target);
  }, { rootMargin: "400px" });
  const chart = (cls, label, recipe, zooms) => {
    const e = make("div", `chart ${cls}`);
    e.setAttribute("role", zooms ? "group" : "img");
    e.setAttribute("aria-label", label);
    if (cls === "pair") e.title = label;  // its names may be shortened beside the axes
    e.recipe = recipe;
    e.zooms = zooms;
    near.observe(e);
    return e;
  };
  const forget = (container) => {
    for (const e of container.querySelectorAll(".chart")) {
      near.unobserve(e);
      drawn.get(e)?.destroy();
      drawn.delete(e);
    }
    container.textContent = "";
  };
  redraws.push(() => { for (const e of [...drawn.keys()]) draw(e); });
  let timer = 0;
  addEventListener("resize", () => {
    clearTimeout(timer);
    timer = setTimeout(() => {
      for (const [e, plot] of drawn) plot.setSize({ width: Math.max(120, e.clientWidth), height: plot.height });
    }, 120);
  });
  // Paper is white, and shows what has not been scrolled to as well.
  addEventListener("beforeprint", () => {
    document.documentElement.dataset.theme = "light";
    for (const e of document.querySelectorAll(".chart")) draw(e);
  });
  addEventListener("afterprint", () => {
    if (theme === 0) delete document.documentElement.dataset.theme;
    else document.documentElement.dataset.theme = themes[theme];
    redraw();
  });

  // ---- a card per parameter
  const cards = $("cards"), perPage = Number(cards.dataset.perPage);
  const key = make("ul", "key");
  const entry = (cls, text, dashed) => {
    const li = make("li");
    li.append(make("i", `k-${cls}${dashed ? " dashed" : ""}`), text);
    key.append(li);
  };
  entry("posterior", "posterior");
  if (P.some((p) => p.laplace)) entry("laplace", "Laplace fit", true);
  if (P.some((p) => p.drawn_prior)) entry("prior", "prior");
  for (let c = 0; c < Math.min(chains, 4); ++c) entry(c + 1, chains > 4 ? `chain ${c + 1}, ${c + 5}, …` : `chain ${c + 1}`);
  cards.before(key);

  const card = (j) => {
    const p = P[j], e = make("article", "card");
    const title = make("h3");
    title.append(make("span", "", p.name), make("small", "", `mean ${plain(p.mean)}, sd ${plain(p.sd)}`),
      make("small", p.rhat > 1.01 || p.rhat === null ? "bad" : "", `R-hat ${p.rhat === null ? "–" : p.rhat.toFixed(3)}`),
      make("small", "", `${p.ess === null ? "–" : Math.round(p.ess).toLocaleString("en")} effective draws`));
    if (p.prior) title.append(make("small", "", `prior ${p.prior}`));
    const charts = make("div", "charts");
    charts.append(
      chart("density", `Density of ${p.name}: mean ${plain(p.mean)}, standard deviation ${plain(p.sd)}`, (w) => density(j, w)),
      chart("trace", `Trace of ${p.name}, ${chains} chains of ${data.draws} draws; R-hat ${p.rhat === null ? "not defined" : p.rhat.toFixed(3)}. Plus and minus zoom, arrows move, 0 shows all.`, (w) => trace(j, w), true),
      chart("rank", `Ranks of the draws of ${p.name} by chain`, (w) => rank(j, w)));
    e.append(title, charts);
    return e;
  };
  const lower = P.map((p) => p.name.toLowerCase());
  const orders = {
    model: () => 0,
    rhat: (a, b) => (P[b].rhat ?? Infinity) - (P[a].rhat ?? Infinity),
    ess: (a, b) => (P[a].ess ?? -1) - (P[b].ess ?? -1),
  };
  let page = 0, wanted = "", order = "model", only = -1;
  const update = () => {
    let list = P.map((_, j) => j).filter((j) => (only >= 0 ? j === only : lower[j].includes(wanted)));
    if (order !== "model") list.sort((a, b) => orders[order](a, b) || a - b);
    const pages = Math.max(1, Math.ceil(list.length / perPage));
    page = Math.min(Math.max(0, page), pages - 1);
    forget(cards);
    cards.append(...list.slice(page * perPage, (page + 1) * perPage).map(card));
    const from = list.length ? page * perPage + 1 : 0, to = Math.min(list.length, (page + 1) * perPage);
    $("cards-count").textContent = `${from} to ${to} of ${list.length}`;
    $("cards-back").disabled = page === 0;
    $("cards-next").disabled = page === pages - 1;
  };
  $("cards-search").addEventListener("input", (event) => {
    wanted = event.target.value.trim().toLowerCase();
    only = -1;
    page = 0;
    update();
  });
  $("cards-order").addEventListener("change", (event) => {
    order = event.target.value;
    page = 0;
    update();
  });
  $("cards-back").addEventListener("click", () => { --page; update(); });
  $("cards-next").addEventListener("click", () => { ++page; update(); });
  update();

  // A parameter's name in the table leads to its card.
  for (const row of rows) {
    const th = row.cells[0], a = make("a");
    a.href = "#parameters";
    a.title = "Density, trace and ranks";
    a.addEventListener("click", () => {
      only = Number(row.dataset.j);
      $("cards-search").value = P[only].name;
      page = 0;
      update();
    });
    a.append(...th.childNodes);  // with the places where the name may be broken
    th.append(a);
  }

  // ---- pairs
  if ($("pairs-plots") && data.pairs.length) {
    const place = $("pairs-plots"), caption = place.querySelector("figcaption").textContent;
    const grid = make("div", "pairs");
    for (const pair of data.pairs) {
      const box = make("div");
      box.append(make("h3", "", `correlation ${pair[2].toFixed(2)}`),
        chart("pair", `Draws of ${P[pair[0]].name} and ${P[pair[1]].name}, correlation ${pair[2].toFixed(2)}`, (w) => scatter(pair, w)));
      grid.append(box);
    }
    place.textContent = "";
    const figure = make("figure");
    figure.append(grid, make("figcaption", "", caption));
    place.append(figure);
  }
})();
