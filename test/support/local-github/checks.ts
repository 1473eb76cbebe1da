// Check runs and commit statuses.
import { type Call, notFound, ok, paginate, type Route, textOf } from "./http.ts";
import { type Json, pageUrl, pick, renderApp, renderUser, repositoryUrl } from "./render.ts";
import type { Annotation, CheckRun, Status } from "./state.ts";
import { nodeIdOf, type World } from "./world.ts";

function renderCheckRun(world: World, run: CheckRun): Json {
	const url = `${repositoryUrl(world)}/check-runs/${run.id}`;
	return {
		id: run.id,
		node_id: nodeIdOf("CR", run.id),
		head_sha: run.headSha,
		name: run.name,
		external_id: run.externalId,
		url,
		html_url: pageUrl(world, `/runs/${run.id}`),
		details_url: run.detailsUrl,
		status: run.status,
		conclusion: run.conclusion,
		started_at: run.startedAt,
		completed_at: run.completedAt,
		check_suite: { id: 1 },
		output: {
			...pick({ ...run }, ["title", "summary", "text"]),
			annotations_count: run.annotations.length,
			annotations_url: `${url}/annotations`,
		},
		app: renderApp(world),
		pull_requests: [],
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
	run.text = output.text ?? run.text;
	run.annotations.push(...(output.annotations ?? []));
	run.detailsUrl = textOf(call, "details_url") ?? run.detailsUrl;
	run.externalId = textOf(call, "external_id") ?? run.externalId;
	run.startedAt = textOf(call, "started_at") ?? run.startedAt;
	run.completedAt =
		textOf(call, "completed_at") ??
		(run.status === "completed" ? (run.completedAt ?? call.world.now()) : null);
}

function findRun(call: Call): CheckRun | undefined {
	return call.world.state.checkRuns.find((run) => run.id === Number(call.params["check_run_id"]));
}

function createRun(call: Call): CheckRun {
	const id = call.world.nextId();
	const run: CheckRun = {
		id,
		name: "",
		headSha: textOf(call, "head_sha") ?? "",
		...{ status: "queued", conclusion: null, title: null, summary: null, text: null, annotations: [] },
		detailsUrl: pageUrl(call.world, `/runs/${id}`),
		externalId: "",
		startedAt: call.world.now(),
		completedAt: null,
	};
	applyToRun(call, run);
	call.world.state.checkRuns.push(run);
	return run;
}

/** A sha stands for itself; a branch for the head of its pull request or of the repository. */
export async function shaOf(world: World, ref: string): Promise<string> {
	if (/^[0-9a-f]{40}$/.test(ref)) return ref;
	const pull = world.state.pulls.find(
		(candidate) => candidate.headRef === ref.replace(/^(refs\/)?heads\//, ""),
	);
	return pull?.headSha ?? (await (await world.git()).resolve(ref)) ?? ref;
}

const checkRoutes: readonly Route[] = [
	{
		method: "POST",
		template: "/repos/{owner}/{repo}/check-runs",
		needs: [{ checks: "write" }],
		handle: (call) => ok(renderCheckRun(call.world, createRun(call)), 201),
	},
	{
		method: "GET",
		template: "/repos/{owner}/{repo}/check-runs/{check_run_id}",
		needs: [{ checks: "read" }],
		handle(call) {
			const run = findRun(call);
			return run ? ok(renderCheckRun(call.world, run)) : notFound();
		},
	},
	{
		method: "PATCH",
		template: "/repos/{owner}/{repo}/check-runs/{check_run_id}",
		needs: [{ checks: "write" }],
		handle(call) {
			const run = findRun(call);
			if (!run) return notFound();
			applyToRun(call, run);
			return ok(renderCheckRun(call.world, run));
		},
	},
	{
		method: "GET",
		template: "/repos/{owner}/{repo}/check-runs/{check_run_id}/annotations",
		needs: [{ checks: "read" }],
		handle(call) {
			const run = findRun(call);
			const blobHref = pageUrl(call.world, `/blob/${run?.headSha}`);
			const whole = { start_column: null, end_column: null, title: null, raw_details: null };
			return run
				? paginate(
						call,
						run.annotations.map((said) => ({ ...whole, ...said, blob_href: `${blobHref}/${said.path}` })),
					)
				: notFound();
		},
	},
	{
		method: "GET",
		template: "/repos/{owner}/{repo}/commits/{ref}/check-runs",
		needs: [{ checks: "read" }],
		async handle(call) {
			const sha = await shaOf(call.world, call.params["ref"] ?? "");
			const fits = (run: CheckRun): boolean =>
				run.headSha === sha &&
				run.name === (call.query.get("check_name") ?? run.name) &&
				run.status === (call.query.get("status") ?? run.status) &&
				["15368", null].includes(call.query.get("app_id"));
			let found = call.world.state.checkRuns.filter(fits).reverse();
			if (call.query.get("filter") !== "all")
				found = found.filter((run, index) => found.findIndex((other) => other.name === run.name) === index);
			return paginate(
				call,
				found.map((run) => renderCheckRun(call.world, run)),
				(page, total) => ({ total_count: total, check_runs: page }),
			);
		},
	},
];

function renderStatus(world: World, status: Status): Json {
	return {
		id: status.id,
		node_id: nodeIdOf("SC", status.id),
		url: `${repositoryUrl(world)}/statuses/${status.sha}`,
		avatar_url: null,
		state: status.state,
		description: status.description,
		target_url: status.targetUrl,
		context: status.context,
		created_at: status.createdAt,
		updated_at: status.createdAt,
		creator: renderUser(world, status.creator),
	};
}

const statusRoutes: readonly Route[] = [
	{
		method: "POST",
		template: "/repos/{owner}/{repo}/statuses/{sha}",
		needs: [{ statuses: "write" }],
		handle(call) {
			const status: Status = {
				id: call.world.nextId(),
				sha: call.params["sha"] ?? "",
				state: textOf(call, "state") ?? "",
				context: textOf(call, "context") ?? "default",
				description: textOf(call, "description") ?? null,
				targetUrl: textOf(call, "target_url") ?? null,
				creator: call.login,
				createdAt: call.world.now(),
			};
			call.world.state.statuses.push(status);
			return ok(renderStatus(call.world, status), 201);
		},
	},
	{
		method: "GET",
		template: "/repos/{owner}/{repo}/commits/{ref}/statuses",
		needs: [{ statuses: "read" }],
		async handle(call) {
			const sha = await shaOf(call.world, call.params["ref"] ?? "");
			const found = call.world.state.statuses.filter((status) => status.sha === sha).reverse();
			return paginate(
				call,
				found.map((status) => renderStatus(call.world, status)),
			);
		},
	},
];

export const verdictRoutes: readonly Route[] = [...checkRoutes, ...statusRoutes];
