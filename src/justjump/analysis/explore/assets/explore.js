// Colours live in explore.css; this file hands them to Cytoscape, which draws on a canvas that CSS does not reach.
(function () {
  const colour = (name) => getComputedStyle(document.documentElement).getPropertyValue(name).trim();
  const PADDING = 18; // around a graph, as in page.py
  const CLASSES = 16; // as in answers.py

  // Classes have a colour each; all else is a number from 0 to 1 on a ramp, or missing.
  function backgrounds(colouring) {
    const fill = (selector, value) => ({ selector, style: { "background-color": value } });
    if (colouring === "predicted" || colouring === "true") {
      const known = Array.from({ length: CLASSES }, (_, number) =>
        fill(`.${colouring}-${number}`, colour(`--class-${number}`)));
      return [fill(`.${colouring}-unknown`, colour("--unknown")), ...known];
    }
    const field = colouring === "influence" ? "level" : colouring;
    const high = colouring === "influence" ? "influence" : /^(error|wrong)_/.test(colouring) ? "error" : "value";
    const ramp = `mapData(${field}, 0, 1, ${colour("--influence-low")}, ${colour(`--${high}-high`)})`;
    return [fill("node", colour("--unknown")), fill(`node[${field}]`, ramp)];
  }

  function stylesheet(colouring, edge) {
    const text = { color: colour("--text"), "text-outline-color": colour("--surface"), "text-outline-width": 2 };
    const label = { label: "data(label)", "font-size": 11, "min-zoomed-font-size": 8, "text-valign": "bottom", "text-margin-y": 3 };
    const font = { "font-family": "system-ui, sans-serif" };
    const size = { width: 18, height: 18, "border-width": 1, "border-color": colour("--node-border") };
    const chosen = edge ? `#edge-${Math.min(edge.target, edge.source)}-${Math.max(edge.target, edge.source)}` : null;
    return [
      { selector: "node", style: { ...text, ...label, ...font, ...size } },
      { selector: ".hop-0", style: { width: 32, height: 32, "font-size": 14, "font-weight": "bold", "border-width": 3, "border-color": colour("--text"), "z-index": 3 } },
      { selector: ".hop-1", style: { width: 22, height: 22 } },
      ...backgrounds(colouring),
      { selector: ".wrong", style: { "border-width": 3, "border-style": "dashed", "border-color": colour("--wrong") } },
      { selector: "edge", style: { width: 1.5, "line-color": colour("--edge"), "curve-style": "straight" } },
      { selector: "edge.directed", style: { "target-arrow-shape": "triangle", "target-arrow-color": colour("--edge") } },
      ...(chosen ? [{ selector: chosen, style: { width: 5, "line-color": colour("--accent"), "z-index": 2 } }] : []),
      { selector: ":active", style: { "overlay-opacity": 0.15 } },
    ];
  }

  // Content is text, a list of contents, or an element as Dash or drawings.py writes it. Text stays text, whatever is in it.
  function build(content) {
    if (content === null || content === undefined) return [];
    if (Array.isArray(content)) return content.flatMap(build);
    if (typeof content !== "object") return [document.createTextNode(content)];
    const { children, className, style = {}, ...attributes } = content.props;
    const element = content.namespace === "svg"
      ? document.createElementNS("http://www.w3.org/2000/svg", content.type)
      : document.createElement(content.type);
    if (className) element.setAttribute("class", className);
    Object.entries(style).forEach(([name, value]) => element.style.setProperty(name, value));
    Object.entries(attributes).forEach(([name, value]) => element.setAttribute(name, value));
    element.append(...build(children));
    return [element];
  }

  // A graph fits its place again when the window gets wider or narrower.
  const refit = new ResizeObserver((changed) =>
    changed.forEach(({ target }) => target._cyreg?.cy.resize().fit(undefined, PADDING)));

  function draw(contents) {
    document.querySelectorAll("[id^='graph-']").forEach((graph) => refit.observe(graph));
    Object.entries(contents || {}).forEach(([id, content]) =>
      document.getElementById(id).replaceChildren(...build(content)));
  }

  const set = (id, data) => window.dash_clientside.set_props(id, { data });
  const chooseNode = ({ node }) => set("node", Number(node));
  const chooseEdge = ({ to, from }) => set("edge", { target: Number(to), source: Number(from) });
  const noEdge = () => null;
  const about = (node) => node.about;
  const functions = { stylesheet, draw, chooseNode, chooseEdge, noEdge, about };
  window.dash_clientside = Object.assign({}, window.dash_clientside, { explore: functions });

  const dark = window.matchMedia("(prefers-color-scheme: dark)");
  dark.addEventListener("change", () => set("theme", dark.matches));

  // What a button brings up may be out of sight, and the button itself is replaced: go where the news is.
  document.addEventListener("click", ({ target }) => {
    const button = target.closest("[data-node], [data-target]");
    if (!button) return;
    const { node, target: to, source: from } = button.dataset;
    node === undefined ? chooseEdge({ to, from }) : chooseNode({ node });
    const news = document.getElementById(node === undefined ? "edge-0" : "facts");
    news.closest("section, article").scrollIntoView({ block: "nearest" });
    news.focus({ preventScroll: true });
  });

  // dash-cytoscape always sets the sensitivity of the wheel, to the value that it has anyway, and Cytoscape warns of that.
  const warn = console.warn;
  console.warn = (...message) => String(message[0]).includes("custom wheel sensitivity") || warn(...message);

  // Dash keeps silent when its server is gone.
  const fetch = window.fetch;
  window.fetch = (...request) =>
    fetch(...request).catch((error) => {
      const message = document.getElementById("message");
      if (message) message.textContent = "The server of this page has stopped: start justjump explore again, then reload.";
      throw error;
    });
})();
