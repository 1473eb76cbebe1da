import { expect, it } from "vitest";
import type { Config } from "../../src/core/config/config.ts";
import { concludeNight, type Night } from "../../src/history/app/history-watch.ts";
import { buildResult } from "../support/build-result.ts";
import { configOf } from "../support/opened-arms.ts";

it("links of pins run on one TensorRT, if the night compares two", async () => {
	const config = configOf("baseline: { from: pin }\nbase: { trtexec: /opt/old/trtexec }\n");
	const adapted: [string, Config["base"]][] = [];
	const watching = { keep: async (ran: unknown) => ran, oldPin: async () => "b2" };
	const night = {
		...{ config, watching, outFolder: "out" },
		run: async ({ out, adapt }: Parameters<Night["run"]>[0]) => {
			adapted.push([out, adapt(config).base]);
			return null;
		},
	} as unknown as Night;
	await concludeNight(buildResult(), night);
	expect(adapted).toEqual([["out/link", undefined]]);
});
