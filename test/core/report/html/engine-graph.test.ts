// The graph of a comparison: where nodes stand, and what is folded.

import fc from "fast-check";
import { expect, it } from "vitest";
import type { EngineDiff } from "../../../../generated/result.ts";
import { renderDiffs } from "../../../../src/core/report/engine-page.ts";
import { layoutGraph } from "../../../../src/core/report/html/engine-graph.ts";
import { diffOf, recordedArm } from "../../../support/recorded-engines.ts";
import { transformerPair } from "../../../support/transformer-engines.ts";

const drawn = (diff: EngineDiff): string => renderDiffs([{ title: "net", diff }], "html", "");
const count = (text: string, pattern: RegExp): number => [...text.matchAll(pattern)].length;

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

it("the graph shows both engines at the same places, and folds what did not change", () => {
	const { base, head } = transformerPair(12);
	const untimed = { info: base.info, profiles: [] };
	const near = { ...base.info, layers: base.info.layers.filter(({ name }) => !name.startsWith("block.3/")) };
	const page = drawn(diffOf(untimed, { info: near, profiles: [] }));
	expect(page).toContain("17 unchanged");
	expect(count(page, /class="ghost"/g)).toBe(6);
	const nodes = (arm: string) =>
		[...page.slice(page.indexOf(`graph of the ${arm}`)).matchAll(/<rect x="([\d.]+)" y="([\d.]+)"/g)]
			.slice(0, 2)
			.map(String);
	expect(nodes("base")).toEqual(nodes("head"));
	expect(count(drawn(diffOf(base, head)), /class="node bad"/g)).toBeGreaterThan(0);
});

it("a comparison without a change has no graph, and one without edges and times is drawn", () => {
	const same = recordedArm("same-model", "base");
	const diff = diffOf(same, same);
	expect(diff.graph).toBeUndefined();
	expect(drawn(diff)).not.toContain('class="panes"');
	const group = { label: "<u>", base: { ms: null, kernels: 1 }, head: null, isChanged: true };
	const edges: [number, number, number][] = [
		[0, 9, 3],
		[1, 0, 3],
	];
	const body = drawn({ ...diff, graph: { groups: [group, group], edges } }).replace(/<script>.*/s, "");
	expect(body).toContain('class="panes"');
	expect(body).not.toMatch(/NaN|<u>/);
});
