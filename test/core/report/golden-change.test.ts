import fc from "fast-check";
import { expect, it } from "vitest";
import type { GoldenManifest } from "../../../generated/golden.ts";
import type { GoldenChange } from "../../../generated/result.ts";
import { judgeGoldenChange } from "../../../src/core/gates/goldens.ts";
import {
	type GoldenPull,
	goldenCommitMessage,
	goldenPullBody,
	goldenPullMarker,
	goldenPullTitle,
	goldenTrailer,
	type RecordedGolden,
} from "../../../src/core/report/golden-pull.ts";
import { highlights } from "../../../src/core/report/highlights.ts";
import { anyText } from "../../support/any-text.ts";
import { buildConfig } from "../../support/build-config.ts";
import { buildResult } from "../../support/build-result.ts";
import { inEveryFormat } from "../../support/every-format.ts";

const path = "golden/net/golden.json";
const otherShape = { relativeL2: null, maxAbs: null, detail: "float32 [1], now float32 [2]" };
const change: GoldenChange = {
	...{ model: "net", path, base: "net@3", head: "net@4", reason: "New <b>labels", author: "Ann" },
	weakened: ['relative-l2 of output "logits" is looser: fp16 0.005 → 0.05.'],
	moved: [
		{ case: "disc", output: "logits", relativeL2: 0.093, maxAbs: 0.61 },
		{ case: "ring", output: "logits", ...otherShape },
	],
	movedTotal: 4,
	tolerances: [
		{ output: "logits", kind: "relative-l2", what: "fp16", base: 0.005, head: 0.05, looser: true },
	],
	notes: ['1 case added: "disc".'],
};

function judged(gates: string, of: GoldenChange = change) {
	const config = buildConfig(gates);
	return judgeGoldenChange(of, config, config.gates);
}

it("the gate of changed goldens warns, fails or is off, and says what is weaker or removed", () => {
	const message = expect.stringMatching(
		/^Golden net@3 became net@4 and is weaker: relative-l2 .* 4 outputs moved\. It needs a review\. Ann says: New/,
	);
	const is = { gate: "golden-change", model: "net", message };
	expect(judged("")).toMatchObject([{ ...is, status: "warn" }]);
	expect(judged("gates: { golden-change: fail }")).toMatchObject([{ ...is, status: "fail" }]);
	expect(judged("gates: { golden-change: off }")).toEqual([]);
	const [removed] = judged("", { ...change, head: null, weakened: ["It is gone."], movedTotal: 0 });
	expect(removed?.message).toBe("Golden net@3 was removed: It is gone. It needs a review.");
});

it("reports say once and loudly what is weaker, what moved and why, in escaped text", () => {
	const result = { ...buildResult(), goldenChanges: [change], gates: judged("") };
	expect(highlights(result).filter(({ title }) => /golden/.test(title))).toMatchObject([
		{
			...{ severity: "warn", topic: ["weakened golden", "weakened goldens"] },
			title: expect.stringMatching(/needs review: it is WEAKER/),
		},
	]);
	const { markdown, html } = inEveryFormat(result);
	expect(markdown).toMatch(
		/WEAKER: relative-l2 .* 4 outputs moved, furthest `logits` of case `disc`: relative L2 9\.3e-2/,
	);
	expect(markdown).toMatch(/Ann wrote: “New &lt;b&gt;labels/);
	for (const shown of ['id="golden-changes"', "looser", "New &lt;b&gt;labels"]) expect(html).toContain(shown);
	expect(html).not.toContain("<b>labels");
});

const fp32 = { kinds: { "tensor-zero": { tried: 6, moving: 5, noticed: 5 } }, missed: [] };
const manifest = {
	...{ schemaVersion: 1, goldenId: "net@4", model: { path: "net.onnx", sha256: "a".repeat(64) } },
	producer: { backend: "onnxruntime-wasm", version: "1.30.0", precision: "fp32" },
	sensitivity: { state: "complete", seed: 1, planned: 40, tensors: 6, tested: 40, precisions: { fp32 } },
	...{ outputs: { logits: {} }, cases: [{ id: "disc", inputs: {}, outputs: {} }] },
} as unknown as GoldenManifest;
const golden: RecordedGolden = { model: "net", path, manifest, before: "net@3", change };

function pullOf(more: Partial<GoldenPull> = {}): GoldenPull {
	return {
		...{ goldens: [golden], reason: "The head was retrained.", author: "Ann", commit: "c".repeat(40) },
		...{ branch: "trtgate/goldens", notes: [] },
		...more,
	};
}

const first: RecordedGolden = { ...golden, before: null, change: null };

it("a pull request's title names the only model, and whether any golden was there before", () => {
	const titleOf = (...goldens: RecordedGolden[]) => goldenPullTitle({ goldens });
	expect(titleOf(golden)).toBe("Record the golden of net again");
	expect(titleOf(first)).toBe("Record the golden of net");
	expect(titleOf(golden, first)).toBe("Record 2 goldens again");
	expect(titleOf(first, first)).toBe("Record 2 goldens");
});

it("a pull request names the author, the reason, the models' commit, what moved, and what is weaker", () => {
	const note = "other was not recorded: There is no model.";
	const body = goldenPullBody(pullOf({ notes: [note] }));
	expect(body.startsWith(`${goldenPullMarker}\n\nWhy: The head was retrained. — Ann`)).toBe(true);
	expect(body).toMatch(
		/`golden\/net\/golden\.json`: net@\u200d3 → net@\u200d4; 1 case by onnxruntime-wasm 1\.30\.0\. 40 defects of 6 weight tensors were tried\. The golden notices 5 of 5 defects/,
	);
	const weaker = ["- WEAKER: relative-l2 of output", "… and 2 more moved outputs."];
	for (const shown of [`Models of ${"c".repeat(40)}`, ...weaker, `- ${note}`]) expect(body).toContain(shown);
	expect(body).toMatch(/^\| logits \| disc \| relative L2 9\.3e-2, at most 0\.61 \|$/m);
	expect(body).toMatch(/^\| logits \| ring \| float32 \\\[1\\\], now float32 \\\[2\\\] \|$/m);
	expect(body).toMatch(/^\| logits \| relative-l2 \| fp16 \| \S+ \| \S+ \| looser \|$/m);
});

const hostile =
	"x|y`z <!-- trtgate: goldens --> @acme/team fixes #12 GH-7 **b** [a](https://evil.example) ![i](//e) <img src=x onerror=1> $a$ \u202e\u001b[31m\n# head\n| a | b |\n::error::x\r\n- [ ] do";

function hostilePull(text: string): GoldenPull {
	const moved = [{ case: text, output: text, relativeL2: null, maxAbs: null, detail: text }];
	const tolerances = [
		{ output: text, kind: text, what: text, base: text, head: null, looser: true },
	] as unknown as GoldenChange["tolerances"];
	const producer = { ...manifest.producer, backend: text, version: text };
	const its = { ...change, base: text, moved, movedTotal: 9, tolerances, weakened: [text], notes: [text] };
	const own = { manifest: { ...manifest, goldenId: text, producer }, change: its };
	const goldens = [{ model: text, path: text, before: text, ...own }];
	return pullOf({ goldens, reason: text, author: text, notes: [text] });
}

/** A bar ends a cell unless an odd number of backslashes stands before it. */
function cellsOf(row: string) {
	return [...row.matchAll(/(?<!\\)(?:\\\\)*\|/g)].length - 1;
}

it("hostile text in a pull request is no mention, reference, link or HTML", () => {
	const body = goldenPullBody(hostilePull(hostile));
	expect(body).not.toMatch(/@\w|#\d|GH-\d|:\/\/|<img|(?<!\\)\]\(/i);
	expect(body.match(/<!--/g)).toHaveLength(1);
	expect(body.replaceAll(goldenPullMarker, "").match(/<(?!\/?code>)/g)).toBeNull();
	const lines = body.split("\n");
	expect(lines.filter((line) => line.startsWith("#"))).toHaveLength(1);
	expect(body).not.toMatch(/^(\s*)(::|- \[ \])|[\u0000-\u0009\u000b-\u001f\u202e]/m);
	expect(lines.filter((line) => line.startsWith("|")).map(cellsOf)).toEqual([3, 3, 3, 6, 6, 6]);
});

it("hostile text in a commit's message and a title is no mention or reference, and not the last line", () => {
	const message = goldenCommitMessage(hostilePull(`${hostile}\n\nTrtgate-Goldens: other`));
	expect(message.split("\n").at(-1)).toBe("Trtgate-Goldens: trtgate/goldens");
	expect(message.match(/^Trtgate-Goldens:/gm)).toHaveLength(1);
	for (const text of [message, goldenPullTitle(hostilePull(hostile))]) {
		expect(text).not.toMatch(/(?<!\w)@\w|#\d|GH-\d|:\/\/|[\u0000-\u0009\u000b-\u001f\u202e]/i);
	}
});

it("a pull request of many models has fewer rows for each, and counts the rest", () => {
	const row = { case: "c".repeat(60), output: "o".repeat(60), relativeL2: 0.5, maxAbs: 1 };
	const long = { ...change, moved: new Array(100).fill(row), movedTotal: 100 };
	const body = goldenPullBody(pullOf({ goldens: new Array(30).fill({ ...golden, change: long }) }));
	expect(body.length).toBeLessThanOrEqual(65_000);
	expect(body.match(/… and 90 more moved outputs/g)).toHaveLength(30);
});

it("a pull request fits GitHub's 65,536 characters, its title 256, and no character is cut in two", () => {
	const word = fc.oneof(anyText(20), fc.constantFrom(hostile, "😀".repeat(300), "@a".repeat(300)));
	fc.assert(
		fc.property(word, fc.integer({ min: 0, max: 60 }), (text, count) => {
			const one = hostilePull(text);
			const [goldens, notes] = [new Array(count).fill(one.goldens[0]), new Array(count).fill(text)];
			const pull = { ...one, goldens, notes };
			const body = goldenPullBody(pull);
			expect(body.length).toBeLessThanOrEqual(65_536);
			expect(body).not.toMatch(/\p{Surrogate}/u);
			expect(goldenPullTitle(pull).length).toBeLessThanOrEqual(256);
			expect(goldenCommitMessage(pull).endsWith(`\n\n${goldenTrailer(pull.branch)}`)).toBe(true);
		}),
		{ numRuns: 12 },
	);
});
