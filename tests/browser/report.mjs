// Opens the page in Chromium and looks at it; see report.py.
import fs from "node:fs";
import path from "node:path";
import { createRequire } from "node:module";
import puppeteer from "puppeteer-core";

const [chromium, file, output] = process.argv.slice(2);
const axe = fs.readFileSync(createRequire(import.meta.url).resolve("axe-core/axe.min.js"), "utf8");
const address = "file://" + file;
const failures = [];
const check = (holds, what) => {
  console.log(`${holds ? "ok" : "FAILED"}: ${what}`);
  if (!holds) failures.push(what);
};

const browser = await puppeteer.launch({ executablePath: chromium, args: ["--no-sandbox"] });

async function open({ width, height, scheme = "light", script = true }) {
  const page = await browser.newPage();
  const errors = [];
  page.on("console", (message) => message.type() === "error" && errors.push(message.text()));
  page.on("pageerror", (error) => errors.push(String(error)));
  page.on("request", (request) => request.url() !== address && errors.push("request " + request.url()));
  await page.setJavaScriptEnabled(script);
  await page.setViewport({ width, height });
  await page.emulateMediaFeatures([{ name: "prefers-color-scheme", value: scheme }]);
  await page.goto(address);
  return { page, errors };
}

for (const [name, size] of [["phone", { width: 390, height: 844 }], ["laptop", { width: 1280, height: 800 }]]) {
  for (const scheme of ["light", "dark"]) {
    const { page, errors } = await open({ ...size, scheme });
    await page.screenshot({ path: path.join(output, `${name}-${scheme}.png`), fullPage: true });
    check(errors.length === 0, `${name}, ${scheme}: no error and no request ${errors.join(" | ")}`);
    check((await page.title()) !== "owned", `${name}, ${scheme}: no planted script ran`);
    const wide = await page.evaluate(() => document.documentElement.scrollWidth - window.innerWidth);
    check(wide <= 0, `${name}, ${scheme}: the page fits the window (${wide} px over)`);
    // The policy of the page forbids the script of axe, so that one comes through the debugger.
    await page.setBypassCSP(true);
    await page.reload();
    await page.evaluate(axe);
    const { violations } = await page.evaluate(() => window.axe.run());
    const serious = violations.filter(({ impact }) => ["serious", "critical"].includes(impact));
    const said = serious.map(({ id, nodes }) => `${id}: ${nodes[0].html.slice(0, 120)}`);
    check(serious.length === 0, `${name}, ${scheme}: axe, ${violations.length} minor ${said.join(" | ")}`);
    await page.close();
  }
}

const { page } = await open({ width: 1280, height: 800 });
for (const part of ["stands", "sessions", "decided", "checks", "handovers", "starts", "helped", "hooks", "growth", "publishers"]) {
  check(await page.$(`#p1-${part}`), `the page has the part ${part}`);
}
const links = await page.$$eval("nav a", (found) => found.filter((link) => !document.querySelector(link.getAttribute("href"))).length);
check(links === 0, "every link leads to a part of the page");
const rows = () => page.$$eval("#p1 .rows tbody tr", (found) => found.filter((row) => !row.hidden).length);
const before = await rows();
await page.type("#query", "decision 7");
const after = await rows();
check(after > 0 && after < before, `the search leaves ${after} of ${before} rows`);
check(await page.$$eval("details", (found) => found.every((part) => part.open)), "folded parts open for a search");
await page.keyboard.press("Tab");
check(await page.evaluate(() => document.activeElement !== document.body), "the keyboard reaches what follows the search");
await page.$eval("#query", (field) => { field.value = ""; field.dispatchEvent(new Event("input")); });
await page.pdf({ path: path.join(output, "print.pdf"), format: "A4" });

const without = await open({ width: 1280, height: 800, script: false });
check(await without.page.$eval("#find", (box) => box.hidden), "without a script there is no search field");
check((await without.page.$$(".rows tbody tr")).length === before, "without a script every row is there");

await browser.close();
process.exit(failures.length ? 1 : 0);
