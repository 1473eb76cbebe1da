// Engines whose build settings the head changed: both arms are built with the head's, so such a change is not measured.
import type { Config } from "../config/config.ts";
import { listNames } from "../text/labels.ts";
import { type EngineSpec, engineSpecs } from "./plan.ts";

/** @returns a sentence for the report; none where no recipe changed. */
export function changedRecipesNote(head: Pick<Config, "models">, base: Pick<Config, "models"> | undefined): string[] {
	const ofBase = new Map(engineSpecs(base ?? { models: [] }).map((spec) => [spec.id, recipeOf(spec)]));
	const changed = engineSpecs(head).filter((spec) => (ofBase.get(spec.id) ?? recipeOf(spec)) !== recipeOf(spec));
	if (changed.length === 0) return [];
	const names = listNames(changed.map(({ id }) => id));
	return [
		`The head's config builds ${names} differently from the base's config. Both are built the head's way, so the effect of these settings is not measured.`,
	];
}

function recipeOf({ engine: { precision, profiles, tensorrt } }: EngineSpec): string {
	return JSON.stringify([precision, profiles, tensorrt], (key, value: unknown) => (key === "pointer" ? undefined : value));
}
