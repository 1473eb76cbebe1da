// Places the nodes of a directed graph in layers, each near what it is connected to.

export interface Layout {
	places: { x: number; y: number }[];
	columns: number;
	layers: number;
}

type Edges = readonly (readonly [from: number, to: number])[];

const sweeps = 5;

/** Nodes come in an order that nearly all edges follow; an edge against it moves nothing. */
export function layoutGraph(count: number, edges: Edges): Layout {
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
	const least = x.reduce((low, at) => Math.min(low, at), Number.POSITIVE_INFINITY);
	const places = x.map((at, node) => ({ x: at - least, y: y[node] ?? 0 }));
	return {
		places,
		columns: places.reduce((most, at) => Math.max(most, at.x + 1), 0),
		layers: members.length,
	};
}

const lists = (count: number): number[][] => Array.from({ length: count }, () => []);

/** Moves each node as near to the mean of its neighbours as the others allow. */
function spread(layer: readonly number[], near: readonly (readonly number[])[], x: number[]): void {
	const wanted = layer.map((node) => {
		const own = near[node] ?? [];
		return {
			node,
			x:
				own.length === 0 ? (x[node] ?? 0) : own.reduce((sum, other) => sum + (x[other] ?? 0), 0) / own.length,
		};
	});
	wanted.sort((a, b) => a.x - b.x);
	let [next, shift] = [Number.NEGATIVE_INFINITY, 0];
	for (const one of wanted) {
		next = Math.max(next + 1, one.x);
		shift += one.x - next;
		x[one.node] = next;
	}
	for (const node of layer) x[node] = (x[node] ?? 0) + shift / layer.length;
}
