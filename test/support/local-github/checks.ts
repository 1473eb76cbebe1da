import { type Call, notFound, ok, paginate, type Route, route, textOf } from "./http.ts";
import { type Json, pageUrl } from "./render.ts";
import type { Annotation, CheckRun } from "./state.ts";
import type { World } from "./world.ts";

function renderCheckRun(world: World, run: CheckRun): Json {
	return {
		...{ id: run.id, head_sha: run.headSha, name: run.name, external_id: run.externalId },
		...{ html_url: pageUrl(world, `/runs/${run.id}`), details_url: run.detailsUrl },
		...{ status: run.status, conclusion: run.conclusion },
		output: { title: run.title, summary: run.summary, annotations_count: run.annotations.length },
	};
}

function applyToRun(call: Call, run: CheckRun): void {
	const conclusion = textOf(call, "conclusion");
	const output = (call.body["output"] ?? {}) as Partial<CheckRun> & { annotations?: Annotation[] };
	run.name = textOf(call, "name") ?? run.name;
	run.status = conclusion === undefined ? (textOf(call, "status") ?? run.status) : "completed";
	run.conclusion = conclusion ?? run.conclusion;
	run.title = output.title ?? run.title;
	run.summary = output.summary ?? run.summary;
	run.annotations.push(...(output.annotations ?? []));
	run.detailsUrl = textOf(call, "details_url") ?? run.detailsUrl;
	run.externalId = textOf(call, "external_id") ?? run.externalId;
}

function createRun(call: Call): CheckRun {
	const id = call.world.nextId();
	const run: CheckRun = {
		...{ id, name: "", headSha: textOf(call, "head_sha") ?? "", externalId: "" },
		...{ status: "queued", conclusion: null, title: null, summary: null, annotations: [] },
		detailsUrl: pageUrl(call.world, `/runs/${id}`),
	};
	applyToRun(call, run);
	call.world.state.checkRuns.push(run);
	return run;
}

async function shaOf(world: World, ref: string): Promise<string> {
	if (/^[0-9a-f]{40}$/.test(ref)) return ref;
	const pull = world.state.pulls.find(({ headRef }) => headRef === ref.replace(/^(refs\/)?heads\//, ""));
	return pull?.headSha ?? (await (await world.git()).resolve(ref)) ?? ref;
}

export const checkRoutes: readonly Route[] = [
	route("POST /check-runs", [{ checks: "write" }], (call) =>
		ok(renderCheckRun(call.world, createRun(call)), 201),
	),
	route("PATCH /check-runs/{check_run_id}", [{ checks: "write" }], (call) => {
		const run = call.world.state.checkRuns.find(({ id }) => id === Number(call.params["check_run_id"]));
		if (!run) return notFound();
		applyToRun(call, run);
		return ok(renderCheckRun(call.world, run));
	}),
	route("GET /commits/{ref}/check-runs", [{ checks: "read" }], async (call) => {
		const sha = await shaOf(call.world, call.params["ref"] ?? "");
		const fits = (run: CheckRun): boolean =>
			run.headSha === sha &&
			run.name === (call.query.get("check_name") ?? run.name) &&
			run.status === (call.query.get("status") ?? run.status);
		let found = call.world.state.checkRuns.filter(fits).reverse();
		if (call.query.get("filter") !== "all")
			found = found.filter((run, index) => found.findIndex((other) => other.name === run.name) === index);
		return paginate(
			call,
			found.map((run) => renderCheckRun(call.world, run)),
			(page, total) => ({ total_count: total, check_runs: page }),
		);
	}),
];
