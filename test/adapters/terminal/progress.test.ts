import fc from "fast-check";
import { expect, it } from "vitest";
import { standardStreams } from "../../../src/adapters/process/standard-streams.ts";
import {
	fitColumns,
	formatWait,
	leftText,
	type Pulse,
	plainProgress,
	terminalProgress,
} from "../../../src/adapters/terminal/progress.ts";
import type { Progress } from "../../../src/ports/world.ts";

function stream(columns = 60) {
	return {
		text: "",
		columns,
		write(text: string) {
			this.text += text;
		},
		drawn() {
			return this.text.split("\r\u001b[2K").slice(1);
		},
	};
}

function manualTime() {
	let now = 0;
	const ticks: (() => void)[] = [];
	const pass = (ms: number): void => {
		now += ms;
		for (const tick of ticks) tick();
	};
	return {
		clock: { now: () => now, timestamp: () => "" },
		ticker: (tick: () => void) => void ticks.push(tick),
		pass,
	};
}

it.each([
	[125_000, "2 min 5 s left"],
	[1999, ""],
	[null, ""],
])("leftText of %j ms is %j", (leftMs, text) => {
	expect(leftText(leftMs)).toBe(text);
});

const plain = { color: false, clock: manualTime().clock };
const groups = (log: { write(text: string): void }, pulse?: Pulse) => {
	const { out, command } = standardStreams({ isActions: true }, { out: log, err: log });
	return plainProgress({ write: out }, pulse, command);
};

function work(progress: Progress): void {
	progress.stage("build", 2);
	progress.item("resnet50/fp16 (base)");
	progress.item("resnet50/fp16 (head)", 125_000);
	progress.detail("pair 3 of 5");
	progress.done("2 of 2 engines built");
}

it("terminalProgress draws one line again and leaves the stage's summary", () => {
	const out = stream(100);
	work(terminalProgress(out, plain));
	expect(out.drawn()).toEqual([
		"  build",
		"  build 1/2 · resnet50/fp16 (base)",
		"  build 2/2 · resnet50/fp16 (head) · 2 min 5 s left",
		"  build 2/2 · resnet50/fp16 (head) · pair 3 of 5 · 2 min 5 s left",
		"✓ build · 2 of 2 engines built · 0 s\n",
	]);
});

it("terminalProgress is drawn again as time passes", () => {
	const { clock, ticker, pass } = manualTime();
	const out = stream(100);
	const progress = terminalProgress(out, { color: false, clock, ticker });
	progress.stage("build", 1);
	progress.item("net/fp16 (head)");
	pass(10_000);
	pass(70_000);
	expect(out.drawn().slice(-2)).toEqual([
		"  build 1/1 · net/fp16 (head) · 10 s",
		"  build 1/1 · net/fp16 (head) · 1 min 20 s",
	]);
});

it("terminalProgress never passes the width of the terminal", () => {
	const out = stream(30);
	work(terminalProgress(out, plain));
	for (const line of out.drawn().slice(0, -1)) expect(line.length).toBeLessThan(30);
});

it("terminalProgress closes a stage that was not ended, and ignores text outside a stage", () => {
	const out = stream();
	const progress = terminalProgress(out, { color: true, clock: manualTime().clock });
	progress.item("lost");
	progress.detail("lost");
	progress.done("lost");
	progress.stage("a", 0);
	progress.stage("b", 1);
	expect(out.text).not.toContain("lost");
	expect(out.text).toContain("\u001b[32m✓\u001b[39m a");
});

it("terminalProgress lets no name move the cursor or break the line", () => {
	fc.assert(
		fc.property(fc.string({ unit: "binary", maxLength: 40 }), (name) => {
			const out = stream();
			const progress = terminalProgress(out, plain);
			progress.stage("s", 1);
			progress.item(`\u001b[2J${name}\r\n`);
			progress.detail(name);
			expect(out.text.replaceAll("\r\u001b[2K", "")).not.toMatch(/[\u0000-\u001f\u007f-\u009f]/);
		}),
	);
});

it("plainProgress writes a line for each stage and item", () => {
	const out = stream();
	work(plainProgress(out));
	expect(out.text).toBe(
		"build (2)\n  [1/2] resnet50/fp16 (base)\n  [2/2] resnet50/fp16 (head) · 2 min 5 s left\n  2 of 2 engines built\n",
	);
});

it.each<[string, (pulse: Pulse, write: (text: string) => void) => Progress]>([
	["plainProgress", (pulse, write) => plainProgress({ write }, pulse)],
	["groupProgress", (pulse, write) => groups({ write }, pulse)],
])("%s shows the current item during a long stage, and nothing between stages", (_, create) => {
	const { clock, ticker, pass } = manualTime();
	const lines: string[] = [];
	const progress = create({ clock, ticker, afterMs: 1500 }, (text) => void lines.push(text));
	pass(9000);
	progress.stage("measure", 1);
	progress.item("net/fp16/batch 1");
	progress.detail("pair 2 of 5");
	const before = lines.length;
	for (const ms of [1000, 600, 1000, 600]) pass(ms);
	expect(lines.slice(before)).toEqual(["    … pair 2 of 5 · 2 s\n", "    … pair 2 of 5 · 3 s\n"]);
	progress.done("1 workload");
	const after = lines.length;
	pass(9000);
	expect(lines).toHaveLength(after);
});

it("groupProgress folds each stage into a group and leaves its summary outside", () => {
	const log = stream();
	const progress = groups(log);
	work(progress);
	progress.stage("measure", 0);
	progress.stage("report", 0);
	expect(log.text.trimEnd().split("\n")).toEqual([
		"::group::build (2)",
		"  [1/2] resnet50/fp16 (base)",
		"  [2/2] resnet50/fp16 (head) · 2 min 5 s left",
		"::endgroup::",
		"build: 2 of 2 engines built",
		"::group::measure",
		"::endgroup::",
		"::group::report",
	]);
});

it("groupProgress lets no name become a command of the runner", () => {
	const log = stream();
	const progress = groups(log);
	const names = ["::set-env name=x::y", "\n::stop-commands::x", "##[group]x", "a::endgroup::", ":::error::x"];
	for (const name of names) {
		progress.stage(name, 1);
		progress.item(name);
		progress.done(name);
	}
	for (const line of log.text.split("\n"))
		if (!/^::(group|endgroup)::/.test(line)) expect(line).not.toMatch(/^\s*::|##\[/);
});

it("fitColumns cuts between code points", () => {
	expect(fitColumns("🥊🥊🥊", 2)).toBe("🥊…");
	expect(fitColumns("abc", 3)).toBe("abc");
});

it.each([
	[-5, "0 s"],
	[59_400, "59 s"],
	[60_000, "1 min"],
	[125_000, "2 min 5 s"],
	[3_600_000, "1 h 0 min"],
	[5_430_000, "1 h 30 min"],
])("formatWait says %d ms as %s", (ms, text) => {
	expect(formatWait(ms)).toBe(text);
});
