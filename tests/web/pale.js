// Every text with less contrast than WCAG AA asks for: 4.5 to 1 to what lies below it.
// A letter of a picture lies on the last box that is drawn before it around its middle.
() => {
  const colour = (said) => {
    const [, wide, rest] = said.match(/^(color\(srgb|rgba?\()(.*)\)$/);
    const [r, g, b, a = 1] = rest.trim().split(/[\s,/]+/).map(Number);
    return wide.startsWith("color") ? [255 * r, 255 * g, 255 * b, a] : [r, g, b, a];
  };
  const over = (top, below) => [0, 1, 2].map((i) => top[i] * top[3] + below[i] * (1 - top[3]));
  const light = (rgb) => rgb.map((v) => v / 255).map((v) => (v <= 0.03928 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4))
    .reduce((sum, v, i) => sum + v * [0.2126, 0.7152, 0.0722][i], 0.05);
  const page = matchMedia("(prefers-color-scheme: dark)").matches ? [18, 18, 18] : [255, 255, 255];
  const below = (e) => e ? over(colour(getComputedStyle(e).backgroundColor), below(e.parentElement)) : page;
  const boxBelow = (text) => {
    const at = text.getBoundingClientRect(), x = (at.left + at.right) / 2, y = (at.top + at.bottom) / 2;
    const boxes = [...text.ownerSVGElement.querySelectorAll("rect")].filter((rect) => {
      const box = rect.getBoundingClientRect();
      return box.left <= x && x <= box.right && box.top <= y && y <= box.bottom
        && rect.compareDocumentPosition(text) & Node.DOCUMENT_POSITION_FOLLOWING;
    });
    return boxes.length ? colour(getComputedStyle(boxes.at(-1)).fill).slice(0, 3) : below(text.ownerSVGElement.parentElement);
  };
  const pale = [], walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  for (let node; (node = walker.nextNode());) {
    const e = node.parentElement, drawn = e.tagName === "text";
    if (!node.data.trim() || !e.checkVisibility({ opacityProperty: true }) || e.closest("title, option, :disabled")) continue;
    const ground = drawn ? boxBelow(e) : below(e);
    const ink = over(colour(getComputedStyle(e)[drawn ? "fill" : "color"]), ground);
    const [a, b] = [light(ink), light(ground)], ratio = Math.max(a, b) / Math.min(a, b);
    if (ratio < 4.5) pale.push(`${ratio.toFixed(1)} ${node.data.trim()}`);
  }
  return pale;
}
