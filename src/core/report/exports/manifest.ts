// Records for a release what was judged and how.
import type { BuildRecord, Result } from "../../../../generated/result.ts";
import { jsonText } from "../../text/escape.ts";
import { caseVerdicts } from "../golden-format.ts";
import { engineKey } from "../highlight.ts";

export const predicateType = "https://github.com/trtgate/trtgate/manifest/v1";

export function renderManifest(result: Result): string {
	const { outcome, tool, startedAt, backend, environment, config, arms, gates } = result;
	const notPassing = gates
		.filter(({ status }) => status !== "pass")
		.map(({ gate, status, model, engine }) => ({ gate, status, model, engine }));
	const manifest = {
		predicateType,
		outcome,
		gates: { total: gates.length, notPassing },
		trtgate: tool.version,
		startedAt,
		commit: arms.head.commit,
		comparedWith: arms.base?.commit ?? arms.base?.label ?? null,
		config: { path: config.path, sha256: config.sha256 },
		backend,
		environment,
		engines: result.builds
			.filter(({ arm, state }) => arm === "head" && state === "built")
			.map((build) => engineOf(build, result)),
	};
	return jsonText(manifest);
}

function engineOf(build: BuildRecord, result: Result) {
	const { model, engine, part, precision, engineSha256, engineBytes, recipe, durationMs } = build;
	const verdicts = result.golden.filter((verdict) => engineKey(verdict) === engineKey(build));
	return {
		...{ model, engine, part, precision, engineSha256, engineBytes },
		file: build.enginePath?.replace(/^.*\/engines\//, ""),
		onnxSha256: build.modelSha256,
		...{ recipe, durationMs, fromCache: build.fromCache ?? false },
		goldens: [...new Set(verdicts.flatMap(({ golden }) => golden ?? []))],
		goldenCases: caseVerdicts(verdicts).map((verdict) => ({ case: verdict.case, state: verdict.state })),
	};
}
