// Examines the built site in Chromium.
//
// Each page, in light and in dark colours, is examined by axe-core: contrast, headings, alternative texts and the rest
// of WCAG 2 AA. No page may load anything that is not a file of the site. No page may be wider than a phone. The
// search finds a word, from a file and without a server. What a newcomer looks for is two clicks away. Pictures of some
// pages, at phone and desktop width, are left in SHOTS. Prints one line for each complaint, and the count last.
//
//     check_site.mjs SITE SHOTS [PAGE...]    with pages only those are examined
// SPDX-License-Identifier: Apache-2.0
import {readFileSync, readdirSync, mkdirSync} from "node:fs";
import {join, relative} from "node:path";
import {pathToFileURL} from "node:url";
import {chromium} from "playwright-core";

const [site, shots, ...chosen] = process.argv.slice(2);
const BROWSER = "/usr/bin/chromium";
const FLAGS = ["--no-sandbox", "--disable-gpu", "--no-first-run", "--disable-background-networking",
    "--disable-component-update", "--disable-sync"];
const WIDTHS = {desktop: {width: 1280, height: 900}, phone: {width: 390, height: 844}};
const SCHEMES = ["light", "dark"];
const PICTURED = ["index.html", "learn/choose-a-lock.html", "proof/figures.html"];
const AXE = readFileSync(new URL("node_modules/axe-core/axe.min.js", import.meta.url), "utf8");
const RULES = {runOnly: ["wcag2a", "wcag2aa", "wcag21aa", "best-practice"],
    // The corner of a table may be empty.
    rules: {"empty-table-header": {enabled: false}},
    // What the theme puts on every page.
    exclude: [[".md-header"], [".md-tabs"], [".md-footer"], [".md-sidebar"], [".md-search"], [".md-top"],
        [".md-code__nav"]]};
// Whom a page is for, the links that are followed to it from the first page, and what is to be there.
const WAYS = [
    ["who knows redis-py", ["how-to/migrate.html"], "#redis-py-the-same-in-redlatch", "r.lock("],
    ["who knows Redisson", ["learn/beside-redisson.html"], "table", "getFairLock"],
];

let passed = 0;
let failed = 0;
function judge(good, complaint) {
    if (good) {
        passed += 1;
    } else {
        failed += 1;
        console.log(`FAILED ${complaint}`);
    }
}

function pages(folder) {
    return readdirSync(folder, {withFileTypes: true}).flatMap((entry) => {
        const path = join(folder, entry.name);
        return entry.isDirectory() ? pages(path) : entry.name.endsWith(".html") ? [path] : [];
    });
}

const url = (name) => pathToFileURL(join(site, name)).href;
const top = pathToFileURL(join(site, "/")).href;

async function open(browser, scheme, width) {
    const context = await browser.newContext({colorScheme: scheme, viewport: WIDTHS[width], reducedMotion: "reduce"});
    const foreign = [];
    context.on("request", (request) => {
        if (!request.url().startsWith(top) && !/^(data|blob|about):/.test(request.url())) {
            foreign.push(request.url());
        }
    });
    const page = await context.newPage();
    page.setDefaultTimeout(20000);
    return {context, page, foreign};
}

async function examine(page, name, scheme) {
    await page.evaluate(AXE);
    const {violations} = await page.evaluate(
        ({exclude, ...rules}) => globalThis.axe.run({exclude}, {...rules, resultTypes: ["violations"]}), RULES);
    const found = violations.map((each) =>
        `${each.id} (${each.nodes.length}): ${each.nodes[0].target} ${each.nodes[0].failureSummary.split("\n")[1]}`);
    judge(found.length === 0, `${name}, ${scheme}: ${found.join("; ")}`);
}

async function everyPage(browser) {
    // 404.html is for servers: its links begin at their top.
    const all = pages(site).map((path) => relative(site, path))
        .filter((name) => !name.startsWith("tree/") && name !== "404.html");
    const names = chosen.length ? chosen : all;
    for (const scheme of SCHEMES) {
        for (const width of Object.keys(WIDTHS)) {
            const {context, page, foreign} = await open(browser, scheme, width);
            for (const name of names) {
                await page.goto(url(name));
                if (width === "desktop") {
                    await examine(page, name, scheme);
                } else if (scheme === "light") {
                    const wide = await page.evaluate(() => document.documentElement.scrollWidth);
                    judge(wide <= WIDTHS.phone.width, `${name}: ${wide} pixels wide on a phone`);
                }
                if (PICTURED.includes(name)) {
                    const file = `${name.replaceAll("/", "-").replace(".html", "")}-${width}-${scheme}.png`;
                    await page.screenshot({path: join(shots, file), fullPage: true});
                }
            }
            judge(foreign.length === 0, `${scheme}, ${width}: requests to ${foreign.slice(0, 3)}`);
            await context.close();
        }
    }
}

async function search(browser) {
    const {context, page} = await open(browser, "light", "desktop");
    await page.goto(url("index.html"));
    await page.locator("label.md-search__icon, .md-search__input").first().click();
    await page.locator(".md-search__input").pressSequentially("plain_lock");
    const results = page.locator(".md-search-result__item");
    await results.first().waitFor().catch(() => {});
    judge(await results.count() > 0, "the search for plain_lock finds nothing");
    await context.close();
}

async function ways(browser) {
    for (const [whom, clicks, where, what] of WAYS) {
        const {context, page} = await open(browser, "light", "phone");
        await page.goto(url("index.html"));
        try {
            for (const link of clicks) {
                await page.locator(`article a[href^="${link}"]`).first().click();
            }
            await page.waitForLoadState();
            judge(await page.locator(where).count() > 0 && (await page.locator("article").innerText()).includes(what),
                `${whom}: no ${what} at ${page.url()}`);
        } catch (error) {
            judge(false, `${whom}: ${error.message.split("\n")[0]}`);
        }
        await context.close();
    }
}

mkdirSync(shots, {recursive: true});
const browser = await chromium.launch({executablePath: BROWSER, args: FLAGS});
await everyPage(browser);
await search(browser);
await ways(browser);
await browser.close();
console.log(`${passed} passed, ${failed} failed`);
process.exit(failed ? 1 : 0);
