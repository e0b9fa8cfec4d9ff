// Buttons show and hide runs; hovering shows the values of the nearest points.
"use strict";
const tip = document.body.appendChild(Object.assign(document.createElement("div"), {id: "tip"}));

for (const button of document.querySelectorAll("button[data-run]"))
  button.addEventListener("click", () => {
    const shown = button.getAttribute("aria-pressed") !== "true";
    button.setAttribute("aria-pressed", shown);
    for (const part of document.querySelectorAll(`svg [data-run="${button.dataset.run}"]`))
      part.classList.toggle("hidden", !shown);
  });

const names = [...document.querySelectorAll("button[data-run]")].map(button => button.textContent);

function nearest(curve, step) {
  curve.read ??= curve.dataset.points.split(" ").map(point => point.split(",").map(Number));
  return curve.read.reduce((best, point) => Math.abs(point[0] - step) < Math.abs(best[0] - step) ? point : best);
}

for (const svg of document.querySelectorAll("svg[data-x]")) {
  const [low, high, begin, end] = svg.dataset.x.split(",").map(Number), cursor = svg.querySelector(".cursor");
  svg.addEventListener("pointermove", event => {
    const box = svg.getBoundingClientRect(), place = (event.clientX - box.left) / box.width * svg.viewBox.baseVal.width;
    const step = Math.min(Math.max(low + (place - begin) / (end - begin) * (high - low), low), high);
    const lines = [...svg.querySelectorAll(".curve:not(.hidden)")].map(curve => {
      const [at, value] = nearest(curve, step);
      return `${names[curve.dataset.run]}  ${curve.dataset.name}  ${value.toPrecision(5)}  at step ${at}`;
    });
    const line = begin + (step - low) / (high - low) * (end - begin);
    cursor.setAttribute("x1", line);
    cursor.setAttribute("x2", line);
    cursor.style.visibility = tip.style.visibility = "visible";
    tip.textContent = lines.join("\n");
    tip.style.left = Math.min(event.clientX + 14, innerWidth - tip.offsetWidth - 8) + "px";
    tip.style.top = event.clientY + 14 + "px";
  });
  svg.addEventListener("pointerleave", () => cursor.style.visibility = tip.style.visibility = "hidden");
}
