// The titles of a check run in progress: the newest one each time, and never more often than allowed.
import { expect, it } from "vitest";
import { liveStatus } from "../../../src/app/publish/under-way.ts";
import { silent } from "../../support/fakes.ts";

/** A timer that ends when told to. */
function openLive(answers: (title: string) => boolean = () => true) {
	const sent: string[] = [];
	let end = (): void => {};
	const waits: number[] = [];
	const live = liveStatus(silent, {
		everyMs: 30_000,
		send: async (title) => {
			sent.push(title);
			return answers(title);
		},
		wait: (ms, signal) => {
			waits.push(ms);
			return new Promise((resolve) => {
				end = resolve;
				signal.addEventListener("abort", () => resolve());
			});
		},
	});
	const tick = async (): Promise<void> => {
		end();
		await new Promise((resolve) => setImmediate(resolve));
	};
	return { live, sent, waits, tick };
}

it("the live status shows the stage, and the count, the newest each 30 seconds", async () => {
	const { live, sent, waits, tick } = openLive();
	await tick();
	live.progress.stage("build", 6);
	live.progress.item("net/fp16 (base)");
	live.progress.stage("measure", 3);
	live.progress.item("a");
	live.progress.item("b");
	expect(sent).toEqual(["starting"]);
	await tick();
	expect(sent.slice(1)).toEqual(["measure 2 of 3"]);
	live.progress.stage("explain", 0);
	await tick();
	expect(sent.slice(2)).toEqual(["explain"]);
	expect(new Set(waits)).toEqual(new Set([30_000]));
	await live.stop();
	expect(sent).toHaveLength(3);
});

it("the live status sends nothing more once a title was refused", async () => {
	const { live, sent, tick } = openLive(() => false);
	await tick();
	live.progress.stage("build", 6);
	await tick();
	expect(sent).toEqual(["starting"]);
	await live.stop();
});
