// Pictures of a comparison: where nodes stand, what is folded, and a waterfall that ends at the head's time.
import fc from "fast-check";
import { expect, it } from "vitest";
import type { EngineDiff } from "../../../../generated/result.ts";
import { enginePart } from "../../../../src/core/report/html/engine.ts";
import { layoutGraph } from "../../../../src/core/report/html/graph-layout.ts";
import { html } from "../../../../src/core/report/html/markup.ts";
import { diffOf, recordedArm } from "../../../support/recorded-engines.ts";
import { transformerPair } from "../../../support/transformer-engines.ts";

const drawn = (diff: EngineDiff, graph: "near" | "all" = "all"): string =>
	html`${enginePart(diff, "net", { graph })}`.markup;
const count = (text: string, pattern: RegExp): number => [...text.matchAll(pattern)].length;

const slower = () =>
	diffOf(recordedArm("slower-head", "base"), recordedArm("slower-head", "head"), {
		enginesMs: { base: 0.0279, head: 0.02903 },
	});

it("layoutGraph puts readers below what they read, and no two nodes at one place, whatever the edges", () => {
	const graph = fc.integer({ min: 1, max: 40 }).chain((size) => {
		const node = fc.nat(size - 1);
		return fc.record({ size: fc.constant(size), edges: fc.array(fc.tuple(node, node), { maxLength: 80 }) });
	});
	fc.assert(
		fc.property(graph, ({ size, edges }) => {
			const { places, columns, layers } = layoutGraph(size, edges);
			for (const [from, to] of edges.filter(([one, other]) => one < other))
				expect(places[to]!.y).toBeGreaterThan(places[from]!.y);
			for (const [at, { x, y }] of places.entries()) {
				expect(x).toBeGreaterThanOrEqual(0);
				expect(Math.max(x + 1 - columns, y + 1 - layers)).toBeLessThan(1e-6);
				const beside = places.slice(at + 1).filter((other) => other.y === y);
				expect(beside.every((other) => Math.abs(other.x - x) > 0.999)).toBe(true);
			}
		}),
	);
});

it("the graph of a comparison shows both engines at the same places, and folds what did not change", () => {
	const { base, head } = transformerPair(12);
	const untimed = { info: base.info, profiles: [] };
	const near = { ...base.info, layers: base.info.layers.filter(({ name }) => !name.startsWith("block.3/")) };
	const diff = diffOf(untimed, { info: near, profiles: [] });
	const page = drawn(diff);
	expect(diff.graph?.groups).toHaveLength(72);
	expect(page).toContain("17 unchanged");
	expect(page).toContain("<summary>All 72 node groups</summary>");
	expect(count(page, /class="ghost"/g)).toBe(12);
	const nodes = (arm: string) =>
		[...page.slice(page.indexOf(`graph of the ${arm}`)).matchAll(/<rect x="([\d.]+)" y="([\d.]+)"/g)]
			.slice(0, 2)
			.map(String);
	expect(nodes("base")).toEqual(nodes("head"));
	expect(count(drawn(diffOf(base, head)), /class="node bad"/g)).toBeGreaterThan(0);
	expect(drawn(diff, "near")).not.toContain("<summary>");
});

it("a comparison without a change has no graph, and one without edges and times is drawn", () => {
	const same = recordedArm("same-model", "base");
	expect(diffOf(same, same).graph).toBeUndefined();
	expect(drawn(diffOf(same, same))).not.toContain("panes");
	const group = { label: "<u>", base: { ms: null, kernels: 1 }, head: null, isChanged: true };
	const page = drawn({
		...diffOf(same, same),
		graph: {
			groups: [group, group],
			edges: [
				[0, 9, 3],
				[1, 0, 3],
			],
		},
	});
	expect(page).toContain("panes");
	expect(page).not.toMatch(/NaN|<u>/);
});

it("the waterfall leads from the base's time over each change and the rest to the head's", () => {
	const page = drawn(slower());
	const steps = [...page.slice(page.indexOf("waterfall")).matchAll(/<title>([^<]+)<\/title>/g)]
		.map(([, text]) => text)
		.slice(0, 6);
	expect(steps).toEqual([
		"base: 27.90 µs",
		"block1 + block1.relu: +0.89 µs",
		"stem + stem.relu: +0.55 µs",
		"pool1: +0.20 µs",
		"not explained: −0.52 µs",
		"head: 29.03 µs",
	]);
	const { account, ...diff } = slower();
	const { baseMs: _, ...older } = account!;
	expect(drawn({ ...diff, account: older })).not.toContain("waterfall");
});
