// Draws docs/comment.png: a pull request played through the bundle, its comment taken from the local GitHub and rendered as GitHub shows it.
// Another Markdown file at another width: node scripts/comment-picture.ts OUT.png REPORT.md 390
import { execFileSync } from "node:child_process";
import { readFileSync, writeFileSync } from "node:fs";
import { join, resolve } from "node:path";
import { pathToFileURL } from "node:url";
import { marked } from "marked";
import { PNG } from "pngjs";
import { pullRequest } from "../test/support/event-payloads.ts";
import { armFiles, type Changes, openPlay } from "../test/support/github-play.ts";
import { temporaryFolder } from "../test/support/project.ts";

const [out = "docs/comment.png", report, width = "900"] = process.argv.slice(2);
const widthPx = Number(width);
const scale = 2;
const maxBytes = 300_000;

/** A release branch's strictness, so that the picture shows a check that fails. */
const strict: Changes = [
	[/^ {4}golden:.*\n/m, ""],
	[/$/, "gates: { latency: { warn: 2%, fail: 3% } }\n"],
];

/** What nvidia-smi said beside this very comparison. */
const smi = "steady=yes samples=comparison-slower-head.csv";

type Later = (clean: () => void | Promise<void>) => void;

async function playComment(atEnd: Later): Promise<string> {
	const play = await openPlay(atEnd);
	const base = play.commit(armFiles("slower-head", "base", strict), { ref: "refs/heads/main" });
	const head = play.commit(armFiles("slower-head", "head", strict), { onto: base });
	const merge = play.merge({ number: 7, base, head });
	const payload = pullRequest({ head, base, merge });
	const { run } = await play.run({
		...{
			event: "pull_request",
			payload,
			sha: merge,
			ref: "refs/pull/7/merge",
			replay: { comparison: "slower-head", smi },
		},
	});
	const body = play.github.state.comments[0]?.body;
	if (body === undefined) throw new Error(`the play left no comment:\n${run.stdout}${run.stderr}`);
	return body;
}

/** Machines that draw pictures seldom have GitHub's emoji. */
const icons: Readonly<Record<string, string>> = {
	"❌": '<path d="M3 3l10 10M13 3L3 13" stroke="#d1242f" stroke-width="3.2" stroke-linecap="round"/>',
	"⚠️": '<path d="M8 1.5L15.3 14.5H.7z" fill="#f5b400"/><path d="M8 6v4M8 12v.6" stroke="#fff" stroke-width="1.8" stroke-linecap="round"/>',
	"✅": '<rect x="1" y="1" width="14" height="14" rx="3" fill="#1a7f37"/><path d="M4.5 8.5l2.5 2.5 4.5-5.5" fill="none" stroke="#fff" stroke-width="2"/>',
};

/** GitHub breaks a comment's lines where they end. */
function renderPage(markdown: string): string {
	const body = Object.entries(icons).reduce(
		(html, [symbol, paths]) =>
			html.replaceAll(symbol, `<svg class="icon" viewBox="0 0 16 16">${paths}</svg>`),
		marked.parse(markdown, { gfm: true, breaks: true, async: false }),
	);
	const style = readFileSync(new URL("comment-picture.css", import.meta.url), "utf8");
	const head = `<header><b>github-actions</b> <span class="bot">bot</span> commented now</header>`;
	return `<!doctype html><meta charset="utf-8"><style>${style}</style><article>${head}<main>${body}</main></article>
<script>document.title = String(Math.ceil(document.querySelector("article").getBoundingClientRect().bottom + 16));</script>`;
}

function runChromium(page: string, ...words: string[]): string {
	const quiet = ["--headless", "--no-sandbox", "--disable-gpu", "--hide-scrollbars", "--disable-lcd-text"];
	return execFileSync(process.env["CHROMIUM"] ?? "chromium", [...quiet, ...words, pathToFileURL(page).href], {
		encoding: "utf8",
		stdio: ["ignore", "pipe", "ignore"],
		timeout: 60_000,
	});
}

/** Twice: how tall the page is, then its picture, with room below for what a window takes for itself. */
function draw(folder: string, html: string): PNG {
	const [page, shot] = [join(folder, "comment.html"), join(folder, "comment.png")];
	writeFileSync(page, html);
	const heightPx = Number(
		/<title>(\d+)<\/title>/.exec(runChromium(page, "--dump-dom", `--window-size=${widthPx},4000`))?.[1],
	);
	const size = `--window-size=${widthPx},${heightPx + 200}`;
	runChromium(page, size, `--force-device-scale-factor=${scale}`, `--screenshot=${shot}`);
	const whole = PNG.sync.read(readFileSync(shot));
	const cut = new PNG({ width: whole.width, height: heightPx * scale });
	PNG.bitblt(whole, cut, 0, 0, whole.width, cut.height, 0, 0);
	return cut;
}

const ends: (() => void | Promise<void>)[] = [];
const atEnd: Later = (clean) => void ends.push(clean);
const target = resolve(out);
try {
	const picture = draw(
		temporaryFolder(atEnd),
		renderPage(report === undefined ? await playComment(atEnd) : readFileSync(report, "utf8")),
	);
	const png = PNG.sync.write(picture, { colorType: 2, deflateLevel: 9 });
	if (report === undefined && png.length > maxBytes)
		throw new Error(`the picture has ${png.length} bytes, more than ${maxBytes}`);
	writeFileSync(target, png);
	console.log(`${target}: ${picture.width} × ${picture.height}, ${png.length} bytes`);
} finally {
	for (const end of ends.reverse()) await end();
}
