// Letters of pictures that reach beyond the picture or lie on others.
all => all.flatMap(svg => {
  const whole = svg.getBoundingClientRect();
  const texts = [...svg.querySelectorAll("text")].map(text => [text.textContent, text.getBoundingClientRect()]);
  const meet = (a, b) => a.left < b.right - 1 && b.left < a.right - 1 && a.top < b.bottom - 3 && b.top < a.bottom - 3;
  return texts.filter(([, at], i) => at.left < whole.left - 1 || at.right > whole.right + 1
    || texts.some(([, other], j) => j < i && meet(at, other))).map(([said]) => said);
})
