// Reuses golden verdicts if nothing that they depend on has changed.
import type { BackendFacts, GoldenVerdict } from "../../../generated/result.ts";
import type { BuiltEngine } from "../../ports/backend.ts";
import type { KeptVerdicts } from "../../ports/world.ts";
import { composedOf } from "./timed-sizes.ts";
import type { Verified, VerifyInput } from "./verify.ts";

interface VerdictFacts {
	version: string;
	backend: BackendFacts;
	environment: Readonly<Record<string, string>>;
}

interface TakenOver {
	engineId: string;
	verdicts: readonly GoldenVerdict[];
	at: string;
}

export async function recallVerdicts(
	input: VerifyInput,
	facts: VerdictFacts,
	kept: KeptVerdicts,
): Promise<TakenOver[]> {
	const found: TakenOver[] = [];
	for (const { head, key } of keyedEngines(input, facts)) {
		const known = await kept.recall(key);
		if (known !== null) found.push({ engineId: head.spec.id, ...known });
	}
	return found;
}

export async function keepVerdicts(
	input: VerifyInput,
	verified: readonly Verified[],
	how: { facts: VerdictFacts; kept: KeptVerdicts; at: string },
): Promise<void> {
	const failed = verified.flatMap((one) => {
		if (one.state === "failed") return [`${one.error.model}/${one.error.engine}`];
		return one.lacksBase === true ? [engineOf(one.verdict)] : [];
	});
	for (const { head, key } of keyedEngines(input, how.facts)) {
		const ofEngine = verified.flatMap((one) =>
			one.state === "judged" && engineOf(one.verdict) === head.spec.id ? [one.verdict] : [],
		);
		const isComplete =
			ofEngine.length > 0 &&
			ofEngine.every(({ state }) => state !== "error") &&
			!failed.includes(head.spec.id);
		if (isComplete) await how.kept.keep(key, ofEngine, how.at);
	}
}

function engineOf({ model, engine }: GoldenVerdict) {
	return `${model}/${engine}`;
}

/** Users' programs have no digest, so their verdicts are never reused. */
function keyedEngines(input: VerifyInput, facts: VerdictFacts) {
	return input.engines.flatMap((head) => {
		const set = input.goldens.get(head.spec.id);
		if (head.arm !== "head" || set === undefined || head.record.engineSha256 === undefined) return [];
		const isCustom = Object.values(set.manifest.outputs).some(({ comparators }) =>
			comparators?.some(({ kind }) => kind === "custom"),
		);
		if (isCustom) return [];
		const base = input.engines.find(({ arm, spec }) => arm === "base" && spec.id === head.spec.id);
		const { id, engine, model } = head.spec;
		const { precision, gates } = engine;
		const modelSha256 = input.modelSha256.get(model.name) ?? head.model.sha256;
		const conditions = [
			[facts.version, facts.backend.kind, facts.backend.version, facts.environment],
			[id, digestsOf(head), base === undefined ? null : digestsOf(base), modelSha256],
			[precision, gates.relativeL2, gates.errorGrowth, input.threads],
			composedOf(head, set).map(({ golden, sizes }) => [golden.id, sizes]),
			[set.manifest, set.ofBase ?? null, base?.spec.engine.precision ?? null],
		];
		return [{ head, key: JSON.stringify(conditions) }];
	});
}

function digestsOf({ record, assets }: BuiltEngine) {
	return [record.engineSha256, assets?.plugins.map(({ sha256 }) => sha256) ?? []];
}
