// GitHub's runner ends a cancelled job by SIGINT, then SIGTERM, then SIGKILL.
import { existsSync, readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, it } from "vitest";
import { pullJob } from "../support/event-payloads.ts";
import {
	artifactFiles,
	expectTidy,
	openPlay,
	type Play,
	type Played,
	type PlayedJob,
} from "../support/github-play.ts";
import { type AtEnd, expectExit } from "../support/project.ts";
import type { ReplayFault } from "../support/replay/install.ts";
import { until } from "../support/until.ts";

function livingIn(folder: string): { pid: number; words: string }[] {
	return readdirSync("/proc")
		.filter((name) => /^\d+$/.test(name))
		.flatMap((pid) => {
			try {
				const words = readFileSync(join("/proc", pid, "cmdline"), "utf8").replaceAll("\0", " ");
				return words.includes(folder) ? [{ pid: Number(pid), words }] : [];
			} catch {
				return [];
			}
		});
}

interface Cancelled {
	signals: readonly NodeJS.Signals[];
	fault: ReplayFault;
	isLost?: boolean;
}

const earlierComment = `<!-- trtgate:trtgate.yml run:1 attempt:1 sha:${"c".repeat(40)} -->\n## An earlier commit\n`;

async function cancel(
	{ signals, fault, isLost = false }: Cancelled,
	atEnd: AtEnd,
): Promise<{ play: Play; played: Played; job: PlayedJob }> {
	const play = await openPlay(atEnd);
	const { base, head } = play.sides("wrong-head");
	const merge = play.merge({ base, head });
	if (isLost) play.github.addComment({ issue: 7, body: earlierComment, author: "github-actions[bot]" });
	const replay = { comparison: "wrong-head", faults: [fault] } as const;
	const job: PlayedJob = { ...pullJob({ head, base, merge }), runId: 4711, replay };
	const isShown = (): boolean =>
		play.github.state.checkRuns.some(({ status }) => status === "in_progress") &&
		(!isLost || play.github.state.comments.some(({ body }) => body.includes("is being measured")));
	const hangs = join(play.root, "runner", "replay-bin", "state", "hangs");
	const played = await play.run({
		...job,
		env: { RUNNER_TRACKING_ID: "github_1" },
		more: {
			onStart: (pid) => void until(() => existsSync(hangs) && isShown()).then(() => sendAll(pid, signals)),
			post: !isLost,
		},
	});
	return { play, played, job };
}

/** The runner waits seven seconds between them; the program hears them one by one all the same. */
function sendAll(pid: number, signals: readonly NodeJS.Signals[]): void {
	for (const signal of signals) process.kill(pid, signal);
}

describe.concurrent("a cancelled job", () => {
	it("a cancelled job ends its programs, keeps what it measured, and reports it", async ({
		expect,
		onTestFinished,
	}) => {
		const { play, played } = await cancel(
			{ signals: ["SIGINT"], fault: { step: "perf", do: "hang-deaf" } },
			onTestFinished,
		);
		const { run, out } = played;
		// Gates that have failed until then stay failed.
		expectExit(run, 1);
		expect(run.outputs).toMatchObject({ outcome: "fail", result: join(out, "result.json"), failed: "1" });
		expect(played.result()).toMatchObject({
			partial: { stage: "measure", reason: expect.stringContaining("SIGINT") },
			golden: [{ state: "mismatch" }],
		});
		for (const text of [run.summary, run.stdout]) expect(text).toMatch(/interrupted by SIGINT/);
		expect(run.summary).toContain("does not match its goldens in");
		expect(livingIn(play.root)).toEqual([]);
		expect(play.github.state.comments).toEqual([]);
		expect(play.github.state.checkRuns).toMatchObject([{ status: "completed", conclusion: "cancelled" }]);
		expect(run.post).toMatchObject({ exitCode: 0 });
		expect(run.post?.stdout).toMatch(/What the run left: published artifact/);
		expect([...artifactFiles(play.github, "trtgate-gate").keys()]).toEqual(
			expect.arrayContaining(["result.json", "report.html"]),
		);
		expectTidy(play, played);
	});

	it.for<[string, Cancelled]>([
		["asked twice", { signals: ["SIGINT", "SIGTERM"], fault: { step: "perf", do: "hang-deaf" } }],
		["killed", { signals: ["SIGKILL"], fault: { step: "build", do: "hang" } }],
	])(
		"a cancelled job that is %s is tidied up by its post step, which keeps what there is",
		async ([, cancelled], context) => {
			const { expect, onTestFinished } = context;
			const { play, played } = await cancel(cancelled, onTestFinished);
			const left = livingIn(play.root);
			for (const { pid } of left) process.kill(pid, "SIGKILL");
			// A killed process cleans up nothing: the runner finds its children by a variable that all programs of the job carry.
			if (cancelled.signals.includes("SIGKILL"))
				expect(played.childVariables()).toContain("RUNNER_TRACKING_ID=");
			else expect(left).toEqual([]);
			expect(played.run.exitCode, played.run.stdout).not.toBe(0);
			expect(played.run.post).toMatchObject({ exitCode: 0 });
			expect(
				[...artifactFiles(play.github, "trtgate-gate").keys()].some((name) => name.startsWith("logs/")),
			).toBe(true);
			const { checkRuns, comments } = play.github.state;
			const isKilled = cancelled.signals.includes("SIGKILL");
			expect(checkRuns).toMatchObject([
				{ status: "completed", conclusion: isKilled ? "failure" : "cancelled" },
			]);
			expect(comments.map(({ body }) => body)).toEqual(
				isKilled ? [expect.stringContaining("killed before it could write a result")] : [],
			);
			expect(readdirSync(played.out).filter((name) => name.endsWith(".lock"))).toEqual([]);
			expectTidy(play, played);
		},
	);

	it("a lost runner's check run and comment end with the next job of the run, which has no result to report", async ({
		expect,
		onTestFinished,
	}) => {
		const lost: Cancelled = { signals: ["SIGKILL"], fault: { step: "build", do: "hang" }, isLost: true };
		const { play, job } = await cancel(lost, onTestFinished);
		for (const { pid } of livingIn(play.root)) process.kill(pid, "SIGKILL");
		const { checkRuns, comments } = play.github.state;
		expect(checkRuns).toMatchObject([{ status: "in_progress" }]);
		expect(comments.map(({ body }) => body)).toEqual([expect.stringContaining("is being measured")]);
		const { run } = await play.run({ ...job, action: "report" });
		expect(run).toMatchObject({ exitCode: 3, outputs: { outcome: "error", "failure-kind": "runner" } });
		expect(checkRuns).toMatchObject([{ status: "completed", conclusion: "failure" }]);
		const [{ body } = { body: "" }, ...more] = comments;
		expect(more).toEqual([]);
		expect(body).not.toMatch(/being measured|An earlier commit/);
		expect(body).toMatch(/run:4711 [\s\S]*left no result/);
		expect(play.github.state.violations).toEqual([]);
	});
});
