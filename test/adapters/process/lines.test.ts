import fc from "fast-check";
import { expect, it } from "vitest";
import { cutLines, lastLines } from "../../../src/adapters/process/log.ts";

function cut(chunks: readonly Uint8Array[]) {
	const lines: string[] = [];
	const cutter = cutLines((line) => lines.push(line));
	for (const chunk of chunks) cutter.push(chunk);
	cutter.end();
	return lines;
}

it("cutLines accepts all three line ends, and a last line without one", () => {
	expect(cut([Buffer.from("a\r\nb\nc\rd\r"), Buffer.from("\ne")])).toEqual(["a", "b", "c", "d", "e"]);
});

it("cutLines removes colours and control characters", () => {
	expect(cut([Buffer.from("\u001b[0;93mwarn\u001b[m \u0007x\u0000y\tz\n")])).toEqual(["warn xy\tz"]);
});

it("cutLines gives the same lines however the bytes are split", () => {
	const text = "zwölf Boxkämpfer\r\njagen — 🥊\n\nübers Deich\n";
	const bytes = Buffer.from(text);
	fc.assert(
		fc.property(fc.array(fc.nat(bytes.length), { maxLength: 12 }), (cuts) => {
			const places = [0, ...cuts.sort((a, b) => a - b), bytes.length];
			const chunks = places.slice(1).map((end, index) => bytes.subarray(places[index] ?? 0, end));
			expect(cut(chunks)).toEqual(["zwölf Boxkämpfer", "jagen — 🥊", "", "übers Deich"]);
		}),
	);
});

it("cutLines never makes a line longer than 4,000 characters and never throws on any bytes", () => {
	fc.assert(
		fc.property(fc.uint8Array({ maxLength: 20_000, size: "max" }), (bytes) => {
			for (const line of cut([bytes])) expect(line.length).toBeLessThanOrEqual(4_000);
		}),
		{ numRuns: 30 },
	);
});

it("lastLines keeps the last ones in order, blank ones left out", () => {
	const last = lastLines(3);
	for (const line of ["a", "", "b", " ", "c", "d", "e", "f", "g"]) last.add(line);
	expect(last.lines()).toEqual(["e", "f", "g"]);
});
