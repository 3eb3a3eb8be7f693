"use strict";
(() => {
  const box = document.getElementById("find");
  const query = document.getElementById("query");
  const found = document.getElementById("found");
  const rows = [...document.querySelectorAll(".rows tbody tr, .card li")];
  const texts = rows.map((row) => row.textContent.toLowerCase());
  const filter = () => {
    const words = query.value.toLowerCase().split(/\s+/).filter(Boolean);
    let shown = 0;
    rows.forEach((row, at) => {
      const matches = words.every((word) => texts[at].includes(word));
      row.hidden = !matches;
      shown += matches ? 1 : 0;
    });
    found.textContent = words.length ? `${shown} of ${rows.length}` : "";
  };
  const folded = [...document.querySelectorAll("details")].map((part) => [part, part.open]);
  query.addEventListener("input", () => {
    filter();
    /* What is found must be seen. */
    folded.forEach(([part, wasOpen]) => (part.open = wasOpen || query.value.trim() !== ""));
  });
  box.hidden = false;
})();
