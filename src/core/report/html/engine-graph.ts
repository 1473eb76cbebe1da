// Draws the changed part of both engines' graphs, the same nodes at the same place.

import type { EngineGraph, EngineGroup } from "../../../../generated/result.ts";
import { cleanName } from "../../text/escape.ts";
import { present } from "../../text/labels.ts";
import type { LayerUnit } from "../engine-text.ts";
import { at, html, type Piece } from "./markup.ts";

const cell = { width: 196, height: 58 } as const;
const box = { width: 176, height: 40 } as const;
const margin = 12;
const side = 40;
/** Of the smaller text, in a box. */
const factsChars = 28;

type Arm = "base" | "head";
const arms = ["base", "head"] as const;

interface Node extends EngineGroup {
	folded?: number;
}

function foldUnchanged({ groups, edges }: EngineGraph) {
	const isShown = groups.map(({ isChanged }) => isChanged);
	for (const [from = 0, to = 0] of edges) {
		if (groups[from]?.isChanged) isShown[to] = true;
		if (groups[to]?.isChanged) isShown[from] = true;
	}
	const nodes: Node[] = [];
	const nodeOf = groups.map((group, at) => {
		const last = nodes.at(-1);
		if (!isShown[at] && last?.folded !== undefined) nodes[nodes.length - 1] = merged(last, group);
		else nodes.push(isShown[at] ? group : merged(null, group));
		return nodes.length - 1;
	});
	const found = new Map<string, number[]>();
	for (const [from = 0, to = 0, where = 0] of edges) {
		const [one = 0, other = 0] = [nodeOf[from], nodeOf[to]];
		const key = `${one} ${other}`;
		if (one !== other) found.set(key, [one, other, (found.get(key)?.[2] ?? 0) | where]);
	}
	return { nodes, edges: [...found.values()] };
}

function merged(into: Node | null, group: EngineGroup) {
	const both = (arm: Arm) => {
		const [one, other] = [into?.[arm] ?? null, group[arm]];
		if (one === null || other === null) return one ?? other;
		const ms = one.ms === null || other.ms === null ? null : one.ms + other.ms;
		return { kernels: one.kernels + other.kernels, ms };
	};
	const sides = { base: both("base"), head: both("head") };
	return { label: "", ...sides, isChanged: false, folded: (into?.folded ?? 0) + 1 };
}

function toneOf({ isChanged, changeMs = 0 }: Node) {
	if (!isChanged) return "";
	return changeMs > 0 ? " bad" : changeMs < 0 ? " ok" : " warn";
}

type Point = Layout["places"][number];

function drawNode(node: Node, arm: Arm, { x, y }: Point, unit: LayerUnit) {
	const own = node[arm];
	const place = html`x="${at(x)}" y="${at(y)}" width="${box.width}" height="${box.height}" rx="4"`;
	if (own === null) return html`<rect class="ghost" ${place}/>`;
	const label = node.folded === undefined ? node.label : `${node.folded} unchanged`;
	const facts = present([
		own.ms !== null && `${unit.format(own.ms)} ${unit.name}`,
		own.precision !== undefined && cleanName(own.precision, 12),
		own.kernels > 1 && `${own.kernels} kernels`,
	]);
	const shown = facts.map((_, last) => facts.slice(0, facts.length - last).join(" · "));
	return html`<g class="node${toneOf(node)}"><title>${[cleanName(label, 200), ...facts].join(", ")}</title><rect ${place}/><text x="${at(x + 11)}" y="${at(y + 16)}">${cleanName(label, 21)}</text><text class="tick" x="${at(x + 11)}" y="${at(y + 31)}">${shown.find((text) => text.length <= factsChars) ?? ""}</text></g>`;
}

function path(from: Point, to: Point) {
	const [x1, x2] = [from.x + box.width / 2, to.x + box.width / 2];
	const [y1, y2] = [from.y + box.height, to.y];
	if (y2 > y1 && y2 - y1 < cell.height)
		return `M${at(x1)} ${at(y1)}C${at(x1)} ${at(y1 + 9)} ${at(x2)} ${at(y2 - 9)} ${at(x2)} ${at(y2)}`;
	const [right, middle] = [Math.max(from.x, to.x) + box.width, box.height / 2];
	const out = right + side - 8;
	return `M${at(from.x + box.width)} ${at(from.y + middle)}C${at(out)} ${at(from.y + middle)} ${at(out)} ${at(to.y + middle)} ${at(to.x + box.width)} ${at(to.y + middle)}`;
}

function legend({ of }: LayerUnit) {
	const colors = of === "time" ? "Red is slower, green faster" : "Red does more work, green less";
	return html`<p class="legend">${colors}; dashed: only the other engine has it.</p>\n`;
}

export function drawGraph(graph: EngineGraph | undefined, unit: LayerUnit, label: string): Piece {
	if (graph === undefined || graph.groups.length < 2) return null;
	const { nodes, edges } = foldUnchanged(graph);
	const { places, columns, layers } = layoutGraph(
		nodes.length,
		edges.map(([from = 0, to = 0]) => [from, to] as const),
	);
	const points = places.map(({ x, y }) => ({ x: margin + x * cell.width, y: margin + y * cell.height }));
	const width = Math.ceil(columns * cell.width + 2 * margin + side);
	const height = layers * cell.height + 2 * margin;
	const panes = arms.map((arm, index) => {
		const lines = edges.flatMap(([from = 0, to = 0, where = 0]) =>
			(where & (index + 1)) !== 0 && points[from] && points[to] ? [path(points[from], points[to])] : [],
		);
		const drawnLines = lines.length === 0 ? null : html`<path class="edges" d="${lines.join("")}"/>`;
		const boxes = nodes.map((node, which) => drawNode(node, arm, points[which] ?? { x: 0, y: 0 }, unit));
		return html`<figure><figcaption><b>${arm}</b></figcaption><div class="pane" tabindex="0" role="region" aria-label="graph of the ${arm}: ${label}"><svg viewBox="0 0 ${width} ${height}" style="--w:${width}px" aria-hidden="true">${drawnLines}${boxes}</svg></div></figure>`;
	});
	return html`<div class="panes">${panes}</div>\n${legend(unit)}`;
}

interface Layout {
	places: { x: number; y: number }[];
	columns: number;
	layers: number;
}

const sweeps = 5;

/** Nodes come in an order that nearly all edges follow; an edge against it moves nothing. */
export function layoutGraph(count: number, edges: readonly (readonly [from: number, to: number])[]): Layout {
	const [above, below] = [lists(count), lists(count)];
	for (const [from, to] of edges) {
		if (from >= to) continue;
		above[to]?.push(from);
		below[from]?.push(to);
	}
	const y: number[] = [];
	for (const sources of above)
		y.push(sources.reduce((deepest, source) => Math.max(deepest, (y[source] ?? 0) + 1), 0));
	const members: number[][] = [];
	for (const [node, layer] of y.entries()) {
		members[layer] ??= [];
		members[layer].push(node);
	}
	const x = y.map(() => 0);
	for (let sweep = 0; sweep < sweeps; sweep += 1) {
		const isDown = sweep % 2 === 0;
		for (const own of isDown ? members : members.toReversed()) spread(own, isDown ? above : below, x);
	}
	const least = x.reduce((low, at) => Math.min(low, at), Infinity);
	const places = x.map((at, node) => ({ x: at - least, y: y[node] ?? 0 }));
	return {
		places,
		columns: places.reduce((most, at) => Math.max(most, at.x + 1), 0),
		layers: members.length,
	};
}

const lists = (count: number): number[][] => Array.from({ length: count }, () => []);

function spread(layer: readonly number[], near: readonly (readonly number[])[], x: number[]) {
	const wanted = layer.map((node) => {
		const own = near[node] ?? [];
		return {
			node,
			x:
				own.length === 0 ? (x[node] ?? 0) : own.reduce((sum, other) => sum + (x[other] ?? 0), 0) / own.length,
		};
	});
	wanted.sort((a, b) => a.x - b.x);
	let [next, shift] = [-Infinity, 0];
	for (const one of wanted) {
		next = Math.max(next + 1, one.x);
		shift += one.x - next;
		x[one.node] = next;
	}
	for (const node of layer) x[node] = (x[node] ?? 0) + shift / layer.length;
}
