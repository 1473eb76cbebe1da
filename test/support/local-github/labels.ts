// Labels of the repository and of its issues.
import { type Json, repositoryUrl } from "./render.ts";
import type { Label } from "./state.ts";
import { nodeIdOf, type World } from "./world.ts";

/** The label of this name; GitHub makes one that is used for the first time. */
export function labelOf(world: World, name: string): Label {
	const known = world.state.labels.find((label) => label.name.toLowerCase() === name.toLowerCase());
	if (known) return known;
	const label = { id: world.nextId(), name, color: "ededed", description: null };
	world.state.labels.push(label);
	return label;
}

export function renderLabel(world: World, name: string): Json {
	const label = labelOf(world, name);
	const url = `${repositoryUrl(world)}/labels/${encodeURIComponent(label.name)}`;
	return {
		id: label.id,
		node_id: nodeIdOf("LA", label.id),
		url,
		name: label.name,
		color: label.color,
		default: false,
		description: label.description,
	};
}

/** Names, whether they came plain or as objects. */
export function namesOf(value: unknown): string[] | undefined {
	if (!Array.isArray(value)) return undefined;
	return value.map((entry) =>
		typeof entry === "string"
			? entry
			: String((entry as { name?: unknown; login?: unknown }).name ?? entry.login),
	);
}
