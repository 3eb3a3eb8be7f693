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
  query.addEventListener("input", filter);
  box.hidden = false;
})();
