// What people see while the gate works.
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { standardStreams } from "../../../src/adapters/process/standard-streams.ts";
import { groupProgress, plainProgress, silentProgress, terminalProgress } from "../../../src/adapters/terminal/progress.ts";
import type { Progress } from "../../../src/ports/world.ts";

function stream(columns = 60): { text: string; columns: number; write(text: string): void } {
	return {
		text: "",
		columns,
		write(text) {
			this.text += text;
		},
	};
}

function clockOf(step: number) {
	let now = 0;
	return {
		now: () => {
			now += step;
			return now;
		},
		timestamp: () => "",
	};
}

function work(progress: Progress): void {
	progress.stage("build", 2);
	progress.item("resnet50/fp16 (base)");
	progress.item("resnet50/fp16 (head)", 125_000);
	progress.detail("pair 3 of 5");
	progress.done("2 of 2 engines built");
}

describe("terminalProgress", () => {
	it("draws one line anew and leaves the stage's summary", () => {
		const out = stream(100);
		work(terminalProgress(out, { color: false, clock: clockOf(3_000) }));
		const drawn = out.text.split("\r\u001b[2K");
		expect(drawn.slice(1)).toEqual([
			"  build",
			"  build 1/2 · resnet50/fp16 (base)",
			"  build 2/2 · resnet50/fp16 (head) · 2 min 5 s left",
			"  build 2/2 · resnet50/fp16 (head) · pair 3 of 5 · 2 min 5 s left",
			"✓ build · 2 of 2 engines built · 3 s\n",
		]);
	});

	it("never passes the width of the terminal", () => {
		const out = stream(30);
		work(terminalProgress(out, { color: false, clock: clockOf(1) }));
		for (const line of out.text.split("\r\u001b[2K").slice(1, -1)) expect(line.length).toBeLessThan(30);
	});

	it("closes a stage that was not ended, and ignores text outside a stage", () => {
		const out = stream();
		const progress = terminalProgress(out, { color: true, clock: clockOf(1) });
		progress.item("lost");
		progress.detail("lost");
		progress.done("lost");
		progress.stage("a", 0);
		progress.stage("b", 1);
		expect(out.text).not.toContain("lost");
		expect(out.text).toContain("\u001b[32m✓\u001b[39m a");
	});

	it("lets no name move the cursor or break the line", () => {
		fc.assert(
			fc.property(fc.string({ unit: "binary", maxLength: 40 }), (name) => {
				const out = stream();
				const progress = terminalProgress(out, { color: false, clock: clockOf(1) });
				progress.stage("s", 1);
				progress.item(`\u001b[2J${name}\r\n`);
				progress.detail(name);
				expect(out.text.replaceAll("\r\u001b[2K", "")).not.toMatch(/[\u0000-\u001f\u007f-\u009f]/);
			}),
		);
	});
});

describe("plainProgress", () => {
	it("writes a line for each stage and item", () => {
		const out = stream();
		work(plainProgress(out));
		expect(out.text).toBe(
			"build (2)\n  [1/2] resnet50/fp16 (base)\n  [2/2] resnet50/fp16 (head) · 2 min 5 s left\n  2 of 2 engines built\n",
		);
	});
});

describe("groupProgress", () => {
	it("folds each stage into a group and leaves its summary outside", () => {
		const log = stream();
		const progress = groupProgress(standardStreams({ isActions: true }, { out: log, err: log }));
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

	it("lets no name become a command of the runner", () => {
		const log = stream();
		const progress = groupProgress(standardStreams({ isActions: true }, { out: log, err: log }));
		for (const name of ["::set-env name=x::y", "\n::stop-commands::x", "##[group]x", "a::endgroup::", ":::error::x"]) {
			progress.stage(name, 1);
			progress.item(name);
			progress.done(name);
		}
		for (const line of log.text.split("\n")) if (!/^::(group|endgroup)::/.test(line)) expect(line).not.toMatch(/^\s*::|##\[/);
	});
});

describe("quietProgress", () => {
	it("reports nothing", () => {
		expect(() => work(silentProgress())).not.toThrow();
	});
});
