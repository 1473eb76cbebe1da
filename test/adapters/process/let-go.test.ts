// What earlier batches held is given back; small batches are left alone, and nobody else gets to see the collector.
import { describe, expect, it } from "vitest";
import { letGo } from "../../../src/adapters/process/let-go.ts";

describe("letGo", () => {
	it("frees what is held no more after a large batch, and shows the collector to nobody", async () => {
		let held: object | null = { bytes: new Uint8Array(4096) };
		const watched = new WeakRef(held);
		held = null;
		// What was made or dereferenced in this turn lives to its end.
		await new Promise((resolve) => setImmediate(resolve));
		letGo(1024);
		expect(held).toBeNull();
		expect(watched.deref()).toBeUndefined();
		expect(Object.hasOwn(globalThis, "gc")).toBe(false);
	});

	it("leaves small batches alone", () => {
		const started = performance.now();
		for (let batch = 0; batch < 10_000; batch += 1) letGo(8);
		expect(performance.now() - started).toBeLessThan(100);
	});
});
